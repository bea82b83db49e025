/** A column of a table, as the embedded BigQuery checks and stores it. */
import type { Cell } from "./cell.ts";

export type ColumnType =
  | "BOOL"
  | "INT64"
  | "FLOAT64"
  | "NUMERIC"
  | "BIGNUMERIC"
  | "STRING"
  | "BYTES"
  | "DATE"
  | "TIME"
  | "DATETIME"
  | "TIMESTAMP"
  | "JSON"
  | "GEOGRAPHY"
  | "INTERVAL"
  | "RANGE"
  | "STRUCT";

export type ColumnMode = "NULLABLE" | "REQUIRED" | "REPEATED";

/** What a value of a column must be; enough to decode and to check it. */
export interface ValueType {
  readonly type: ColumnType;
  /** STRING(L) in code points, BYTES(L) in bytes. */
  readonly maxLength?: number | undefined;
  /** NUMERIC(P,S) and BIGNUMERIC(P,S). */
  readonly precision?: number | undefined;
  readonly scale?: number | undefined;
  readonly roundHalfEven?: boolean | undefined;
  /** Fraction digits of a TIMESTAMP: 6 or 12. */
  readonly timestampPrecision?: number | undefined;
}

/** What an append fixes for all rows of its request, so that a default can be worked out whenever the row is read. */
export interface DefaultContext {
  /** When the request came, in microseconds since the epoch. */
  readonly atMicros: bigint;
  /** Random text; rows of the request get values from it by hashing. */
  readonly seed: string;
}

export interface DefaultValue {
  /** As the table resource spells it. */
  readonly expression: string;
  /** @param row position of the row in its request */
  readonly evaluate: (context: DefaultContext, row: number) => Cell;
}

export interface Column extends ValueType {
  readonly name: string;
  readonly mode: ColumnMode;
  /** Of a STRUCT its columns, of a RANGE its `start` and `end`. */
  readonly fields: readonly Column[];
  readonly defaultValue?: DefaultValue | undefined;
  /** Everything of the field's JSON that has no bearing on values, such as its description, and is given back as it came. */
  readonly annotations: Readonly<Record<string, unknown>>;
}

/** BigQuery compares column names without case. */
export function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
