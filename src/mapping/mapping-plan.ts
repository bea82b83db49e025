/** Pairs the fields of messages with the columns of a table, and decides what is done with each pair. */

/** How one column is read. */
export interface ColumnOptions {
  /** What a bare number means in a TIMESTAMP column. */
  readonly timestampUnit?: "seconds" | "millis" | "micros" | "nanos";
  /** Pattern of text that is not in BigQuery's literal grammar. */
  readonly format?: string;
  /** What becomes of an explicit null in a JSON column. */
  readonly jsonNull?: "null" | "keep";
}

/** Everything that decides how messages become rows, apart from the table itself. */
export interface MappingOptions {
  /** `table`: JSON by the table's schema; `raw`: the whole payload into the column `data`. */
  readonly mode: "table" | "raw";
  readonly dropUnknownFields: boolean;
  readonly writeMetadata: boolean;
  /** Full resource name; written to `subscription_name` with `writeMetadata`. */
  readonly subscription: string;
  /** What is done with text for NUMERIC and BIGNUMERIC that is no number (BQ-TBL-07). */
  readonly numericBytes: "refuse" | "base64" | "latin1";
  readonly onPrecisionLoss: "reject" | "round";
  readonly missingValues: "null" | "default";
  /** By path of the column, `a.b` when nested; compared without case. */
  readonly columns: Readonly<Record<string, ColumnOptions>>;
}
