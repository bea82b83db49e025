/** Random values of the kinds that corpora are made of, from a seed (mulberry32). */

const vocabulary =
  "amber basin cedar delta ember fjord grove haven inlet jetty karst ledge marsh north ocean plain quarry ridge shore trail upland valley width yonder zenith basket refund voucher parcel invoice counter shelf sample batch".split(
    " ",
  );

export class Randomness {
  #state: number;
  #prose: string | undefined;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number, both bounds included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(share: number): boolean {
    return this.fraction() < share;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.integer(0, from.length - 1)]!;
  }

  /** A decimal number with so many fraction digits. */
  decimal(max: number, digits: number): number {
    return Number((this.fraction() * max).toFixed(digits));
  }

  hex(length: number): string {
    let text = "";
    while (text.length < length) text += this.integer(0, 0xffff_ffff).toString(16).padStart(8, "0");
    return text.slice(0, length);
  }

  word(): string {
    return this.pick(vocabulary);
  }

  words(count: number): string {
    let text = this.word();
    for (let i = 1; i < count; i++) text += ` ${this.word()}`;
    return text;
  }

  /** A long run of words, cut out of one that is made once. */
  prose(length: number): string {
    this.#prose ??= this.words(40_000);
    const start = this.integer(0, this.#prose.length - length);
    return this.#prose.slice(start, start + length);
  }

  date(): string {
    return `202${this.integer(3, 5)}-${twoDigits(this.integer(1, 12))}-${twoDigits(this.integer(1, 28))}`;
  }

  time(): string {
    return [this.integer(0, 23), this.integer(0, 59), this.integer(0, 59)].map(twoDigits).join(":");
  }

  /** Microseconds, UTC. */
  timestamp(): string {
    return `${this.date()}T${this.time()}.${String(this.integer(0, 999_999)).padStart(6, "0")}Z`;
  }
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}
