/** Exact unsigned arithmetic up to 256 bits on one reused accumulator: wide enough for every decimal column. */
import type { WireWriter } from "../write/wire-writer.ts";

const two32 = 4_294_967_296;
const limbCount = 8;

/** A factor up to this keeps the product of a limb, and what is carried, an exact double. */
const maxFactorDigits = 6;

/** So many digits are always a safe integer. */
const maxSafeDigits = 15;
const powersOfTen = Array.from({ length: maxSafeDigits + 1 }, (_, exponent) => 10 ** exponent);

/** An unsigned integer as limbs of 32 bits, the lowest first. */
export type Limbs = Uint32Array<ArrayBuffer>;

/** The limbs of an integer below 2^256. */
export function limbsOf(value: bigint): Limbs {
  return Uint32Array.from({ length: limbCount }, (_, i) => Number((value >> BigInt(32 * i)) & 0xffff_ffffn));
}

/** Callers see to it that no value reaches 2^256: 77 decimal digits always fit. */
export class Magnitude {
  readonly #limbs: Limbs = new Uint32Array(limbCount);
  /** How many limbs are in use: the highest of them is not zero. */
  #length = 0;

  /** Takes the value of the first `count` digits from offset `first` on; a decimal point between them is passed over. */
  readDigits(bytes: Buffer, first: number, count: number): void {
    let at = first;
    let head = 0;
    for (let left = Math.min(count, maxSafeDigits); left > 0; at++) {
      const digit = bytes[at]! - 0x30;
      if (digit < 0) continue;
      head = head * 10 + digit;
      left--;
    }
    this.#setSafe(head);
    if (count > maxSafeDigits) this.#appendDigits(bytes, at, count - maxSafeDigits);
  }

  /** Puts further digits behind those that were read. */
  #appendDigits(bytes: Buffer, first: number, count: number): void {
    let at = first;
    for (let left = count; left > 0; left -= maxFactorDigits) {
      const width = Math.min(left, maxFactorDigits);
      let chunk = 0;
      for (let taken = 0; taken < width; at++) {
        const digit = bytes[at]! - 0x30;
        if (digit < 0) continue;
        chunk = chunk * 10 + digit;
        taken++;
      }
      this.#multiplyAdd(powersOfTen[width]!, chunk);
    }
  }

  /** Takes the value of an integer below 2^256. */
  set(value: bigint): void {
    this.#limbs.set(limbsOf(value));
    this.#length = limbCount;
    while (this.#length > 0 && this.#limbs[this.#length - 1] === 0) this.#length--;
  }

  timesPowerOfTen(exponent: number): void {
    if (this.#length <= 2 && exponent > 0 && exponent <= maxSafeDigits) {
      // What is exact in a double takes one multiplication.
      const product = this.toNumber() * powersOfTen[exponent]!;
      if (product <= Number.MAX_SAFE_INTEGER) {
        this.#setSafe(product);
        return;
      }
    }
    for (; exponent > maxFactorDigits; exponent -= maxFactorDigits) this.#multiplyAdd(1_000_000, 0);
    if (exponent > 0) this.#multiplyAdd(powersOfTen[exponent]!, 0);
  }

  increment(): void {
    this.#multiplyAdd(1, 1);
  }

  exceeds(limit: Limbs): boolean {
    for (let i = limbCount - 1; i >= 0; i--) {
      const limb = i < this.#length ? this.#limbs[i]! : 0;
      if (limb !== limit[i]) return limb > limit[i]!;
    }
    return false;
  }

  /** Bits 0–31. */
  get low(): number {
    return this.#length > 0 ? this.#limbs[0]! : 0;
  }

  /** Bits 32–63. */
  get high(): number {
    return this.#length > 1 ? this.#limbs[1]! : 0;
  }

  /** The value as a double; exact up to 2^53. Only of values below 2^64. */
  toNumber(): number {
    return this.high * two32 + this.low;
  }

  toBigInt(): bigint {
    let value = 0n;
    for (let i = this.#length - 1; i >= 0; i--) value = (value << 32n) | BigInt(this.#limbs[i]!);
    return value;
  }

  /** Writes the value, or its negative, as a varint of 64 bits. Only of values up to 2^63. */
  writeInt64(out: WireWriter, negative: boolean): void {
    if (!negative) return out.varint64(this.low, this.high);
    const low = -this.low >>> 0;
    return out.varint64(low, (~this.high + (low === 0 ? 1 : 0)) >>> 0);
  }

  /**
   * Writes the value, or its negative, as bytes behind their length: two's complement, little-endian, no more bytes
   * than needed, the form of NUMERIC and BIGNUMERIC (facts/bigquery-write.md §1.3).
   */
  writeTwosComplement(out: WireWriter, negative: boolean): void {
    const count = Math.floor(this.#signedBits(negative) / 8) + 1;
    out.reserve(count + 1);
    const bytes = out.bytes;
    let at = out.position;
    bytes[at++] = count;
    let carry = negative ? 1 : 0;
    let limb = 0;
    for (let i = 0; i < count; i++) {
      if ((i & 3) === 0) {
        const magnitude = i >> 2 < this.#length ? this.#limbs[i >> 2]! : 0;
        limb = negative ? (~magnitude + carry) >>> 0 : magnitude;
        if (limb !== 0) carry = 0;
      }
      bytes[at++] = limb >>> (8 * (i & 3));
    }
    out.position = at;
  }

  /** How many bits the value takes, or its negative, apart from the sign. */
  #signedBits(negative: boolean): number {
    if (this.#length === 0) return 0;
    const top = this.#limbs[this.#length - 1]!;
    const bits = 32 * this.#length - Math.clz32(top);
    return negative && this.#isPowerOfTwo(top) ? bits - 1 : bits;
  }

  #isPowerOfTwo(top: number): boolean {
    for (let i = 0; i < this.#length - 1; i++) if (this.#limbs[i] !== 0) return false;
    return (top & (top - 1)) === 0;
  }

  #setSafe(value: number): void {
    const high = Math.floor(value / two32);
    this.#limbs[0] = value >>> 0;
    this.#limbs[1] = high;
    this.#length = high > 0 ? 2 : value > 0 ? 1 : 0;
  }

  #multiplyAdd(factor: number, addend: number): void {
    const limbs = this.#limbs;
    let carry = addend;
    for (let i = 0; i < this.#length; i++) {
      const product = limbs[i]! * factor + carry;
      limbs[i] = product;
      carry = Math.floor(product / two32);
    }
    if (carry > 0) limbs[this.#length++] = carry;
  }
}
