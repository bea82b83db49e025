/** What a pipeline's configuration says about conversions, for one column. */
export interface ConversionOptions {
  /** What is done with text for NUMERIC and BIGNUMERIC that is no number (BQ-TBL-07). */
  readonly numericBytes: "refuse" | "base64" | "latin1";
  /** `round`: decimals are rounded half away from zero, fractions of a second cut off. */
  readonly onPrecisionLoss: "reject" | "round";
  /** What a bare number means in a TIMESTAMP column; microseconds unless it says otherwise. */
  readonly timestampUnit?: TimestampUnit;
  /**
   * Pattern of text in a DATE, TIME, DATETIME or TIMESTAMP column (see time-format.ts). It takes the place of
   * BigQuery's literal grammar, so that no text can be read in two ways.
   */
  readonly format?: string;
}

export type TimestampUnit = "seconds" | "millis" | "micros" | "nanos";
