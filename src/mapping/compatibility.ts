/** Which kinds of value go into which column types, and by which conversion. The one place that says so. */
import type { Convert, FieldKind } from "../schema/field.ts";
import type { Column } from "../schema/table-schema.ts";

/** What a pipeline's configuration says about conversions, for one column. */
export interface ConversionOptions {
  /** What is done with text for NUMERIC and BIGNUMERIC that is no number (BQ-TBL-07). */
  readonly numericBytes: "refuse" | "base64" | "latin1";
  /** `round`: decimals are rounded half away from zero, fractions of a second cut off. */
  readonly onPrecisionLoss: "reject" | "round";
  /** What a bare number means in a TIMESTAMP column; microseconds unless it says otherwise. */
  readonly timestampUnit?: "seconds" | "millis" | "micros" | "nanos";
  /** Pattern of text in a DATE, TIME, DATETIME or TIMESTAMP column, in place of BigQuery's literal grammar. */
  readonly format?: string;
}

/**
 * The conversion of one kind of value into a column.
 *
 * @returns undefined when the pair is not in the matrix, or when it takes a reader: STRUCT, RANGE and JSON columns
 *   are written by the transcoder. The mode is not looked at: a REPEATED column is converted element by element.
 * @throws SetupError when `format` is no pattern that this column can be read by
 */
export function bindConversion(_kind: FieldKind, _column: Column, _options: ConversionOptions): Convert | undefined {
  return undefined;
}
