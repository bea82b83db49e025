/** Numbers of the slow path, by `big.js` and BigInt: what is written becomes an exact decimal before anything else. */
import { Big } from "big.js";
import type { Column } from "../../src/schema/table-schema.ts";
import { Refused } from "./slow-refused.ts";

type PrecisionLoss = "reject" | "round";

const int64Max = 2n ** 63n - 1n;
const roundHalfAwayFromZero = 1;

/** A decimal number as text may be spelled: sign, point, exponent. */
const decimalText = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

/** The exact value of decimal text; `undefined` when it is no number. */
function decimalOf(text: string): Big | undefined {
  return decimalText.test(text) ? new Big(text.replace(/^\+/, "")) : undefined;
}

/** The integer that a JSON number or digits stand for: `1.0` and `1e3` are integers. */
export function integerOf(source: string, min: bigint, max: bigint): bigint {
  const value = new Big(source);
  if (!isWhole(value)) throw new Refused("TYPE_MISMATCH");
  if (value.e > 40) throw new Refused("OUT_OF_RANGE");
  const integer = BigInt(value.toFixed(0));
  if (integer < min || integer > max) throw new Refused("OUT_OF_RANGE");
  return integer;
}

/** No digit behind the point but zeros: big.js keeps digits without trailing zeros, `e` is the exponent of the first. */
export function isWhole(value: Big): boolean {
  return value.c.length - 1 <= value.e || value.eq(0);
}

export function int64OfNumber(source: string): bigint {
  return integerOf(source, -int64Max - 1n, int64Max);
}

export function int64OfText(text: string): bigint {
  if (!/^-?\d+$/.test(text)) throw new Refused("TYPE_MISMATCH");
  return int64OfNumber(text);
}

export function float64OfNumber(source: string): number {
  const value = Number(source);
  if (!Number.isFinite(value)) throw new Refused("OUT_OF_RANGE");
  return value;
}

export function float64OfText(text: string): number {
  const word = /^([+-]?)(nan|inf|infinity)$/i.exec(text);
  if (word) return word[2]!.toLowerCase() === "nan" ? Number.NaN : Number(`${word[1]}Infinity`);
  if (!decimalText.test(text)) throw new Refused("TYPE_MISMATCH");
  return float64OfNumber(text);
}

/** Digits behind the point that the wire form of a decimal column has. */
function wireScale(column: Column): number {
  return column.type === "NUMERIC" ? 9 : 38;
}

/** Largest and smallest value of the wire form, as the integer value × 10^scale. */
function wireRange(column: Column): readonly [min: bigint, max: bigint] {
  if (column.type === "NUMERIC") return [-(10n ** 38n - 1n), 10n ** 38n - 1n];
  return [-(2n ** 255n), 2n ** 255n - 1n];
}

/** A JSON number is a measurement: it is always rounded to the scale of the column. */
export function decimalOfNumber(source: string, column: Column): Buffer {
  return decimalBytes(roundToScale(new Big(source), column), column);
}

/** Text is exact: digits beyond the scale are a loss of precision. */
export function decimalOfText(
  text: string,
  column: Column,
  numericBytes: "refuse" | "base64" | "latin1",
  onPrecisionLoss: PrecisionLoss,
): Buffer {
  const value = decimalOf(text) ?? decimalOfEncoded(text, column, numericBytes);
  const rounded = roundToScale(value, column);
  if (onPrecisionLoss === "reject" && !rounded.eq(value)) throw new Refused("PRECISION_LOSS");
  return decimalBytes(rounded, column);
}

function roundToScale(value: Big, column: Column): Big {
  const scale = column.precision === undefined ? wireScale(column) : (column.scale ?? 0);
  return value.round(scale, roundHalfAwayFromZero);
}

function decimalBytes(value: Big, column: Column): Buffer {
  if (value.e > 40) throw new Refused("OUT_OF_RANGE");
  const [min, max] = wireRange(column);
  const unscaled = BigInt(value.times(new Big(10).pow(wireScale(column))).toFixed(0));
  if (unscaled < min || unscaled > max || integerDigits(value) > mostIntegerDigits(column)) {
    throw new Refused("OUT_OF_RANGE");
  }
  return littleEndian(unscaled);
}

function integerDigits(value: Big): number {
  return value.eq(0) ? 0 : Math.max(value.e + 1, 0);
}

function mostIntegerDigits(column: Column): number {
  return column.precision === undefined ? 39 : column.precision - (column.scale ?? 0);
}

/** Text that is no number, read as the bytes of `BigDecimalByteStringEncoder`. */
function decimalOfEncoded(text: string, column: Column, numericBytes: "refuse" | "base64" | "latin1"): Big {
  const bytes = numericBytes === "base64" ? base64(text) : numericBytes === "latin1" ? latin1(text) : undefined;
  if (!bytes || bytes.length === 0) throw new Refused("TYPE_MISMATCH");
  const unsigned = BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`);
  const unscaled = BigInt.asIntN(bytes.length * 8, unsigned);
  const [min, max] = wireRange(column);
  if (unscaled < min || unscaled > max) throw new Refused("OUT_OF_RANGE");
  return new Big(unscaled.toString()).times(`1e-${wireScale(column)}`);
}

function latin1(text: string): Buffer | undefined {
  return Array.from(text).every((character) => character <= "\u{ff}") ? Buffer.from(text, "latin1") : undefined;
}

/** Base64 in one alphabet, with all padding or none, no stray bits: exactly what an encoder gives. */
export function base64(text: string): Buffer | undefined {
  const spellings: BufferEncoding[] = ["base64", "base64url"];
  for (const spelling of spellings) {
    const bytes = Buffer.from(text, spelling);
    const bare = bytes.toString(spelling).replaceAll("=", "");
    const padded = bare.padEnd(Math.ceil(bare.length / 4) * 4, "=");
    if (text === bare || text === padded) return bytes;
  }
  return undefined;
}

/** The shortest two's complement that holds the value, lowest byte first. */
function littleEndian(value: bigint): Buffer {
  let length = 1;
  while (BigInt.asIntN(length * 8, value) !== value) length++;
  const hex = BigInt.asUintN(length * 8, value)
    .toString(16)
    .padStart(length * 2, "0");
  return Buffer.from(Buffer.from(hex, "hex").toReversed());
}
