/** FLOAT64: the double that is nearest to the number as it is written. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import { DecimalScan } from "./decimal-scan.ts";

const beyondDouble: Fault = {
  code: "OUT_OF_RANGE",
  message: "FLOAT64 holds numbers up to about 1.8e308; got a larger one",
};
const notNumber: Fault = {
  code: "TYPE_MISMATCH",
  message: "FLOAT64 takes text of a decimal number, NaN or infinity; got other text",
};

/** A NaN has one form, whatever its sign. */
const words: ReadonlyMap<string, number> = new Map([
  ...["nan", "+nan", "-nan"].map((word) => [word, Number.NaN] as const),
  ...["inf", "+inf", "infinity", "+infinity"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-inf", "-infinity"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);
const longestWord = "-infinity".length;

/** Powers of ten that a double holds exactly. */
const exactPowers = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

const scan = new DecimalScan();

/** JSON number → FLOAT64. What is too small becomes 0, what is too large is refused. */
export const float64FromNumber: Convert = (bytes, start, end, out) => {
  const value = nearestDouble(bytes, start, end);
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return beyondDouble;
  out.double(value);
  return undefined;
};

/** JSON text → FLOAT64: a decimal number, or a word for what JSON has no number for. */
export const float64FromText: Convert = (bytes, start, end, out) => {
  if (scan.scan(bytes, start, end)) return float64FromNumber(bytes, start, end, out);
  const word = spelledWord(bytes, start, end);
  if (word === undefined) return notNumber;
  out.double(word);
  return undefined;
};

/**
 * The double nearest to a decimal number. With at most 15 digits and no exponent both operands of the division are
 * exact, so that its one rounding is the right one; anything else is left to the engine, which rounds correctly too.
 */
function nearestDouble(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === 0x2d;
  let at = negative ? start + 1 : start;
  if (end - at > 16) return Number(bytes.toString("latin1", start, end));
  let value = 0;
  let fractionDigits = -1;
  for (; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit >= 0 && digit <= 9) {
      value = value * 10 + digit;
      if (fractionDigits >= 0) fractionDigits++;
    } else if (digit === -2) fractionDigits = 0;
    else return Number(bytes.toString("latin1", start, end));
  }
  if (value > 999_999_999_999_999) return Number(bytes.toString("latin1", start, end));
  if (fractionDigits > 0) value /= exactPowers[fractionDigits]!;
  return negative ? -value : value;
}

function spelledWord(bytes: Buffer, start: number, end: number): number | undefined {
  return end - start > longestWord ? undefined : words.get(bytes.toString("latin1", start, end).toLowerCase());
}
