/**
 * JSON numbers as they are mostly written, from the payload to the row in one pass. What is not written so plainly is left to the conversion
 * of the column, which reads every number.
 */
import { caseBit, letterE, minus, point, zero } from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/** A double holds every number of so many digits. */
const maxDigits = 15;

/** Powers of ten that a double holds exactly. */
const powers = Array.from({ length: maxDigits + 1 }, (_, exponent) => 10 ** exponent);

/**
 * Writes an integer of at most 15 digits to an INT64 column.
 *
 * @returns the offset behind it, or −1 when there is another number at `start`; then nothing was written
 */
export function copyInteger(reader: JsonReader, start: number, out: WireWriter): number {
  const { bytes, end } = reader;
  const negative = bytes[start] === minus;
  const first = negative ? start + 1 : start;
  let at = first;
  let value = 0;
  let digit = 0;
  while (at < end && (digit = bytes[at]! - zero) >>> 0 < 10) {
    value = value * 10 + digit;
    at++;
  }
  if (!isPlain(bytes, first, at) || !endsNumber(reader, at)) return -1;
  out.int64(negative ? -value : value);
  return at;
}

/**
 * Writes a number of at most 15 digits and without an exponent to a FLOAT64 column. Digits and power of ten are exact doubles, so that the
 * one rounding of their division gives the nearest double.
 *
 * @returns the offset behind it, or −1 when there is another number at `start`; then nothing was written
 */
export function copyDouble(reader: JsonReader, start: number, out: WireWriter): number {
  const { bytes, end } = reader;
  const negative = bytes[start] === minus;
  const first = negative ? start + 1 : start;
  let at = first;
  let value = 0;
  let digit = 0;
  while (at < end && (digit = bytes[at]! - zero) >>> 0 < 10) {
    value = value * 10 + digit;
    at++;
  }
  if (!isPlain(bytes, first, at)) return -1;
  if (at < end && bytes[at] === point) {
    const fraction = ++at;
    while (at < end && (digit = bytes[at]! - zero) >>> 0 < 10) {
      value = value * 10 + digit;
      at++;
    }
    if (at === fraction || at - first > maxDigits + 1) return -1;
    value /= powers[at - fraction]!;
  }
  if (!endsNumber(reader, at)) return -1;
  out.double(negative ? -value : value);
  return at;
}

/** The digits `bytes[first, at)` are an integer as JSON writes it, and not too many. */
function isPlain(bytes: Buffer, first: number, at: number): boolean {
  const digits = at - first;
  return digits === 1 || (digits > 1 && digits <= maxDigits && bytes[first] !== zero);
}

/** Neither a fraction nor an exponent follows. */
function endsNumber(reader: JsonReader, at: number): boolean {
  const next = reader.peek(at);
  return next !== point && (next | caseBit) !== letterE;
}
