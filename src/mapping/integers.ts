/** Whole numbers in payloads: INT64 columns, and the numbers behind dates and times. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import { DecimalScan } from "./decimal-scan.ts";
import { Magnitude } from "./magnitude.ts";

/** No int64 has more decimal digits. */
export const maxInt64Digits = 19;

/** What the last `readWhole` found. */
export const whole = {
  negative: false,
  /** It has more digits than were asked for: `magnitude` holds nothing. */
  huge: false,
  /** The value without its sign; what cutting off the fraction leaves of it when there is one. */
  magnitude: new Magnitude(),
};

const scan = new DecimalScan();

/**
 * Reads the decimal number times 10^power into `whole`, unless it has more than `maxDigits` integer digits.
 *
 * @returns whether it is whole
 */
export function readWhole(
  bytes: Buffer,
  start: number,
  end: number,
  power = 0,
  maxDigits: number = maxInt64Digits,
): boolean {
  scan.scan(bytes, start, end);
  const shift = scan.digits === 0 ? 0 : scan.exponent + power;
  whole.negative = scan.negative;
  whole.huge = scan.digits + shift > maxDigits;
  if (!whole.huge) {
    whole.magnitude.readDigits(bytes, scan.first, Math.min(scan.digits + shift, scan.digits));
    whole.magnitude.timesPowerOfTen(shift);
  }
  return shift >= 0;
}

/** Whether the number that `readWhole` read last was whole before it was scaled: `1.0` and `1e3` are. */
export function wasWrittenWhole(): boolean {
  return scan.exponent >= 0;
}

/**
 * The value of a few digits with an optional minus sign, the common case, read at once; NaN for anything else, and for
 * what is no safe integer.
 */
export function plainInteger(bytes: Buffer, start: number, end: number): number {
  const negative = bytes[start] === 0x2d;
  let at = negative ? start + 1 : start;
  if (end - at > 16 || at >= end) return Number.NaN;
  let value = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    value = value * 10 + digit;
  }
  // Sixteen digits may be rounded here, but then the sum is above the bound as well.
  if (value > Number.MAX_SAFE_INTEGER) return Number.NaN;
  return negative ? -value : value;
}

/** Whether the range is decimal digits with an optional minus sign, and nothing else. */
export function isDigits(bytes: Buffer, start: number, end: number): boolean {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (at >= end) return false;
  for (; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return false;
  }
  return true;
}

const notWhole: Fault = { code: "TYPE_MISMATCH", message: "INT64 takes whole numbers; got a number with a fraction" };
const notDigits: Fault = {
  code: "TYPE_MISMATCH",
  message: "INT64 takes text of decimal digits with an optional minus sign, nothing else",
};
const beyondInt64: Fault = {
  code: "OUT_OF_RANGE",
  message: "INT64 holds -9223372036854775808 to 9223372036854775807; got a number beyond",
};

/** JSON number → INT64: whole as it is written, every digit kept. */
export const int64FromNumber: Convert = (bytes, start, end, out) => {
  const plain = plainInteger(bytes, start, end);
  if (Number.isNaN(plain)) {
    if (!readWhole(bytes, start, end)) return notWhole;
    if (whole.huge || exceedsInt64()) return beyondInt64;
    whole.magnitude.writeInt64(out, whole.negative);
  } else out.int64(plain);
  return undefined;
};

/** JSON text → INT64: decimal digits with an optional minus sign. */
export const int64FromText: Convert = (bytes, start, end, out) => {
  if (!isDigits(bytes, start, end)) return notDigits;
  return int64FromNumber(bytes, start, end, out);
};

/** Whether the number in `whole` is outside int64. */
function exceedsInt64(): boolean {
  const { negative, magnitude } = whole;
  if (magnitude.high < 0x8000_0000) return false;
  return !(negative && magnitude.high === 0x8000_0000 && magnitude.low === 0);
}
