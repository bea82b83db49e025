/** Finds the digits of a decimal number in a payload, without reading their value yet. */

/** An exponent beyond this is as good as infinite; it stops growing here, so that hostile ones stay cheap. */
const hugeExponent = 1_000_000_000;

/**
 * The shape of one decimal number: ±D · 10^exponent, where D are its significant digits, which neither begin nor end
 * with a zero. One scan is used again and again: it holds the last number that was scanned.
 */
export class DecimalScan {
  negative = false;
  /** How many significant digits there are; 0 when the number is zero. */
  digits = 0;
  /** Offset of the first significant digit. */
  first = 0;
  /** Power of ten of the last significant digit; the number is whole unless it is negative. */
  exponent = 0;
  /** Offset of the decimal point; of the end of the digits when there is none. */
  #point = 0;

  /**
   * Scans `bytes[start, end)`: an optional sign, digits with at most one point before, between or behind them,
   * an optional exponent. JSON's numbers are among these.
   *
   * @returns whether the whole range is such a number
   */
  scan(bytes: Buffer, start: number, end: number): boolean {
    let at = start;
    const sign = bytes[at];
    this.negative = sign === 0x2d;
    if (at < end && (sign === 0x2d || sign === 0x2b)) at++;
    const digitsStart = at;
    let first = -1;
    let last = -1;
    let point = -1;
    for (; at < end; at++) {
      const digit = bytes[at]! - 0x30;
      if (digit >= 0 && digit <= 9) {
        if (digit === 0) continue;
        if (first < 0) first = at;
        last = at;
      } else if (digit === -2 && point < 0) point = at;
      else break;
    }
    if (at - digitsStart === (point < 0 ? 0 : 1)) return false;
    this.#point = point < 0 ? at : point;
    const written = at === end ? 0 : scanExponent(bytes, at, end);
    if (Number.isNaN(written)) return false;
    this.#shape(first, last, written);
    return true;
  }

  #shape(first: number, last: number, written: number): void {
    this.first = first;
    if (first < 0) {
      this.digits = 0;
      this.exponent = 0;
      return;
    }
    const point = this.#point;
    this.digits = last - first + (first < point && point < last ? 0 : 1);
    this.exponent = written + point - last - (last < point ? 1 : 0);
  }

  /** The significant digit of this index, 0 being the first. */
  digitAt(bytes: Buffer, index: number): number {
    const offset = this.first + index;
    return bytes[this.first < this.#point && offset >= this.#point ? offset + 1 : offset]! - 0x30;
  }

  /** How many digits stand before the decimal point when the number is written without an exponent; 0 for a fraction. */
  get integerDigits(): number {
    return Math.max(this.digits + this.exponent, 0);
  }
}

/** The exponent that `bytes[at, end)` spells, such as `e-7`; NaN when it spells none. */
function scanExponent(bytes: Buffer, at: number, end: number): number {
  if ((bytes[at]! | 0x20) !== 0x65) return Number.NaN;
  at++;
  const sign = bytes[at];
  if (at < end && (sign === 0x2d || sign === 0x2b)) at++;
  if (at === end) return Number.NaN;
  let exponent = 0;
  for (; at < end; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9) return Number.NaN;
    if (exponent < hugeExponent) exponent = exponent * 10 + digit;
  }
  return sign === 0x2d ? -exponent : exponent;
}
