/** Values of a table as the embedded BigQuery holds them once decoded: exact, and independent of any wire or text form. */

/** A value that BigQuery would refuse. The message is what the row error will say after the name of the field. */
export class InvalidValue extends Error {
  override readonly name = "InvalidValue";
}

/**
 * One value of a column; its reading depends on the column's type:
 *
 * | type | cell |
 * | --- | --- |
 * | BOOL, FLOAT64, STRING, JSON, GEOGRAPHY, BYTES | boolean, number, text, text, text, Buffer |
 * | INT64 | bigint |
 * | NUMERIC, BIGNUMERIC | bigint: the value times 10^9, 10^38 |
 * | DATE | number: days since 1970-01-01 |
 * | TIME | number: microseconds since midnight |
 * | DATETIME, TIMESTAMP | bigint: microseconds since 1970-01-01T00:00:00 (UTC) |
 * | TIMESTAMP(12) | bigint: picoseconds since the same |
 * | INTERVAL | Interval |
 * | RANGE | [start, end], null for an unbounded end |
 * | STRUCT | cells in the order of the columns |
 * | REPEATED, any type | array of cells |
 */
export type Cell = null | boolean | bigint | number | string | Buffer | Interval | readonly Cell[];

/** BigQuery's INTERVAL: three parts that do not flow into each other. */
export interface Interval {
  readonly months: number;
  readonly days: number;
  readonly micros: bigint;
}
