/** Message IDs as numbers. Pub/Sub's are decimal, of up to 20 digits as a rule; they are kept exactly, in 64 bits. */

const zero = 0x30;
const maxDigits = 20;
const two32 = 2 ** 32;

/** Digits are taken in groups of six: 2^32 × 10^6 is still an exact double. */
const groupDigits = 6;

/**
 * Reads an ID that is the shortest decimal form of a number below 2^64, so that no two IDs have the same number.
 *
 * @param into gets the lower and the upper 32 bits
 * @returns whether the ID is one; if not, `into` is as it was
 */
export function readDecimalId(id: string, into: Uint32Array): boolean {
  const digits = id.length;
  if (digits === 0 || digits > maxDigits || (id.charCodeAt(0) === zero && digits > 1)) return false;
  let low = 0;
  let high = 0;
  for (let at = 0; at < digits;) {
    let group = 0;
    let scale = 1;
    for (const end = Math.min(at + groupDigits, digits); at < end; at++) {
      const digit = id.charCodeAt(at) - zero;
      if (digit < 0 || digit > 9) return false;
      group = group * 10 + digit;
      scale *= 10;
    }
    const sum = low * scale + group;
    const carry = Math.floor(sum / two32);
    low = sum - carry * two32;
    high = high * scale + carry;
  }
  if (high >= two32) return false;
  into[0] = low;
  into[1] = high;
  return true;
}
