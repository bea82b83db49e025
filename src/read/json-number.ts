/** Numbers as JSON writes them. */
import * as ascii from "./ascii.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { caseBit, letterE, minus, plus, point, zero } = ascii;

/** The offset behind the number that begins at `start`; −1 − o where the grammar breaks at offset o. */
export function scanNumber(bytes: Buffer, start: number, end: number): number {
  let at = start;
  if (at < end && bytes[at] === minus) at++;
  const integer = at;
  at = skipDigits(bytes, at, end);
  if (at === integer || (bytes[integer] === zero && at > integer + 1)) return -1 - integer;
  if (at < end && bytes[at] === point) {
    const fraction = at + 1;
    at = skipDigits(bytes, fraction, end);
    if (at === fraction) return -1 - at;
  }
  if (at < end && (bytes[at]! | caseBit) === letterE) {
    at++;
    if (at < end && (bytes[at] === plus || bytes[at] === minus)) at++;
    const exponent = at;
    at = skipDigits(bytes, at, end);
    if (at === exponent) return -1 - at;
  }
  return at;
}

function skipDigits(bytes: Buffer, at: number, end: number): number {
  while (at < end && (bytes[at]! - zero) >>> 0 < 10) at++;
  return at;
}

/** What a JSON column of BigQuery makes of a number: kept exactly, changed, or too large to be kept at all. */
export type JsonNumberFate = "exact" | "changed" | "tooLarge";

/** So few characters are exact whatever they are: integers of at most 18 digits, decimals of at most 15 significant ones. */
const surelyExactInteger = 18;
const surelyExactDecimal = 15;

const minInt64 = -(2n ** 63n);
const maxUint64 = 2n ** 64n - 1n;

/**
 * What becomes of the number `bytes[start, end)` in a JSON column: integers from −2^63 to 2^64 − 1 are kept digit by
 * digit, any other number as the nearest double, whose shortest text must be the same number.
 */
export function jsonNumberFate(bytes: Buffer, start: number, end: number): JsonNumberFate {
  const length = end - start;
  if (length <= surelyExactDecimal && !hasExponent(bytes, start, end)) return "exact";
  const text = bytes.toString("latin1", start, end);
  if (isInteger(bytes, start, end)) {
    if (length <= surelyExactInteger) return "exact";
    if (length <= 21 && isKeptInteger(BigInt(text))) return "exact";
    return Number.isFinite(Number(text)) ? "changed" : "tooLarge";
  }
  const double = Number(text);
  if (!Number.isFinite(double)) return "tooLarge";
  return sameNumber(text, String(double)) ? "exact" : "changed";
}

function hasExponent(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at]! | caseBit) === letterE) return true;
  return false;
}

function isInteger(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if ((bytes[at]! - zero) >>> 0 > 9 && bytes[at] !== minus) return false;
  return true;
}

function isKeptInteger(value: bigint): boolean {
  return value >= minInt64 && value <= maxUint64;
}

/** Two decimal texts stand for the same number: the same digits at the same place (the sign of a zero does not count). */
function sameNumber(a: string, b: string): boolean {
  const left = digitsOf(a);
  const right = digitsOf(b);
  if (left.digits === "" || right.digits === "") return left.digits === right.digits;
  return left.digits === right.digits && left.exponent === right.exponent && a.startsWith("-") === b.startsWith("-");
}

/** `digits` × 10^`exponent` without zeros at either end; no digits for zero. */
function digitsOf(text: string): { readonly digits: string; readonly exponent: number } {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [integer = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (integer + fraction).replace(/^0+/, "");
  const significant = trimZeros(digits);
  return { digits: significant, exponent: Number(exponent) - fraction.length + digits.length - significant.length };
}

/** Without the zeros at the end. (A regular expression takes quadratic time for zeros that stand in the middle.) */
function trimZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === zero) end--;
  return digits.slice(0, end);
}
