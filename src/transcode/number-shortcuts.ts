/** Short cuts for numbers: at most 15 digits, no exponent, no zeros in front. */
import * as ascii from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { putInt64, type WireWriter } from "../write/wire-writer.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { caseBit, letterE, minus, point, quote, zero } = ascii;

/** A double holds every number of so many digits. */
const maxDigits = 15;
/** An int32 holds every number of so many digits. */
const smallDigits = 9;

/** Powers of ten that a double holds exactly. */
const powers = Array.from({ length: maxDigits + 1 }, (_, exponent) => 10 ** exponent);

/** JSON number → INT64. */
export function copyInteger(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const bytes = reader.bytes;
  const negative = bytes[start] === minus;
  const first = negative ? start + 1 : start;
  const value = digitsAt(reader, first);
  const at = digitsEnd;
  if (!isPlainInteger(bytes, first, at) || !endsNumber(reader, at)) return -1;
  const to = out.beginField(tag, 10);
  out.position = putInt64(out.bytes, to, negative ? -value : value);
  return at;
}

/**
 * JSON number → FLOAT64. The digits and the power of ten are exact doubles, so that the one rounding of their division gives the
 * nearest double.
 */
export function copyDouble(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const { bytes, end } = reader;
  const negative = bytes[start] === minus;
  const first = negative ? start + 1 : start;
  let value = digitsAt(reader, first);
  let at = digitsEnd;
  if (!isPlainInteger(bytes, first, at)) return -1;
  if (at < end && bytes[at] === point) {
    const fraction = at + 1;
    const fractionValue = digitsAt(reader, fraction);
    at = digitsEnd;
    if (at === fraction || at - first > maxDigits + 1) return -1;
    const power = powers[at - fraction]!;
    value = (value * power + fractionValue) / power;
  }
  if (!endsNumber(reader, at)) return -1;
  const to = out.beginField(tag, 8);
  const signed = negative ? -value : value;
  out.view.setFloat64(to, signed, true);
  out.position = to + 8;
  return at;
}

/** Fraction digits of a NUMERIC. */
const numericScale = 9;
/** Larger integers times 10^9 are no safe integers. */
const maxDecimalInteger = 9_007_198;

/** JSON number or text → NUMERIC without parameters: value · 10^9, little-endian two's complement, as short as it can be. */
export function copyDecimal(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const { bytes, end } = reader;
  const quoted = bytes[start] === quote;
  const signAt = quoted ? start + 1 : start;
  const negative = signAt < end && bytes[signAt] === minus;
  const first = negative ? signAt + 1 : signAt;
  const integer = digitsAt(reader, first);
  let at = digitsEnd;
  if (!isPlainInteger(bytes, first, at) || integer > maxDecimalInteger) return -1;
  let value = integer * powers[numericScale]!;
  if (at < end && bytes[at] === point) {
    const fraction = at + 1;
    const fractionValue = digitsAt(reader, fraction);
    at = digitsEnd;
    if (at === fraction || at - fraction > numericScale) return -1;
    value += fractionValue * powers[numericScale - (at - fraction)]!;
  }
  if (quoted ? reader.peek(at) !== quote : !endsNumber(reader, at)) return -1;
  const to = out.beginField(tag, 9);
  out.position = putTwosComplement(out.bytes, to, value, negative);
  return quoted ? at + 1 : at;
}

/** The digits `bytes[first, at)` are an integer as JSON writes it, and not too many. */
function isPlainInteger(bytes: Buffer, first: number, at: number): boolean {
  const digits = at - first;
  return digits === 1 || (digits > 1 && digits <= maxDigits && bytes[first] !== zero);
}

/** Where the digits end that `digitsAt` read last. */
let digitsEnd = 0;

/** The value of the digits at `at`, exact for 15 of them. Sets `digitsEnd`. */
function digitsAt({ bytes, end }: JsonReader, at: number): number {
  const near = Math.min(at + smallDigits, end);
  let value = 0;
  while (at < near) {
    const digit = bytes[at]! - zero;
    if (digit >>> 0 > 9) break;
    value = (Math.imul(value, 10) + digit) | 0;
    at++;
  }
  digitsEnd = at;
  return at === near ? moreDigitsAt(bytes, at, end, value) : value;
}

/** Goes on with digits that no int32 has room for. */
function moreDigitsAt(bytes: Buffer, at: number, end: number, value: number): number {
  while (at < end && (bytes[at]! - zero) >>> 0 < 10) value = value * 10 + (bytes[at++]! - zero);
  digitsEnd = at;
  return value;
}

/** Neither a fraction nor an exponent follows. */
function endsNumber(reader: JsonReader, at: number): boolean {
  const next = reader.peek(at);
  return next !== point && (next | caseBit) !== letterE;
}

const two32 = 4_294_967_296;

/** Writes a length and the bytes of a safe integer. Returns the offset behind. */
function putTwosComplement(bytes: Buffer, at: number, magnitude: number, negative: boolean): number {
  let low = magnitude >>> 0;
  let high = (magnitude / two32) >>> 0;
  if (negative) {
    low = -low >>> 0;
    high = (~high + (low === 0 ? 1 : 0)) >>> 0;
  }
  // The topmost bit is the sign: seven bits of magnitude in one byte, fifteen in two …
  let length = 1;
  for (let limit = 128; negative ? magnitude > limit : magnitude >= limit; limit *= 256) length++;
  bytes[at] = length;
  for (let i = 0; i < length; i++) bytes[at + 1 + i] = i < 4 ? low >>> (i * 8) : high >>> ((i - 4) * 8);
  return at + 1 + length;
}
