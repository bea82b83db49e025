/** Columns of a BigQuery table, in the one form that the rest of Millrace reads. */

export type ColumnType = (typeof columnTypes)[number];

export const columnTypes = [
  "BOOL",
  "INT64",
  "FLOAT64",
  "NUMERIC",
  "BIGNUMERIC",
  "STRING",
  "BYTES",
  "DATE",
  "TIME",
  "DATETIME",
  "TIMESTAMP",
  "JSON",
  "GEOGRAPHY",
  "INTERVAL",
  "RANGE",
  "STRUCT",
] as const;

export type ColumnMode = "NULLABLE" | "REQUIRED" | "REPEATED";

/** Element type of a RANGE column. */
export type RangeElementType = "DATE" | "DATETIME" | "TIMESTAMP";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly mode: ColumnMode;
  /** Only of a STRUCT, in the order of the table. */
  readonly fields: readonly Column[];
  /** STRING(L) in code points, BYTES(L) in bytes. */
  readonly maxLength?: number;
  /** NUMERIC(P,S) and BIGNUMERIC(P,S): total digits. */
  readonly precision?: number;
  /** NUMERIC(P,S) and BIGNUMERIC(P,S): fraction digits; 0 when only a precision is given. */
  readonly scale?: number;
  /** Only of a RANGE. */
  readonly rangeElementType?: RangeElementType;
  /** Fraction digits of a TIMESTAMP: 6 unless the table says 12. */
  readonly timestampPrecision?: 6 | 12;
  /** The column has a default value expression. */
  readonly hasDefault: boolean;
}

export interface TableSchema {
  /** In the order of the table. */
  readonly columns: readonly Column[];
  /** Column names of the primary key; empty when the table has none. */
  readonly primaryKey: readonly string[];
}
