/** Reads protobuf's wire types from bytes that our own writer wrote. */

/** Bits of a varint, a double, or the bytes of a length-delimited value. */
export type WireValue = bigint | number | WireCursor;

export class WireCursor {
  readonly bytes: Buffer;
  readonly end: number;
  #at: number;

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes;
    this.#at = start;
    this.end = end;
  }

  get atEnd(): boolean {
    return this.#at >= this.end;
  }

  /** What is not read yet. */
  get rest(): Buffer {
    return this.bytes.subarray(this.#at, this.end);
  }

  tag(): { readonly field: number; readonly wireType: 0 | 1 | 2 } {
    const tag = Number(this.#varint());
    return { field: Math.floor(tag / 8), wireType: (tag % 8) as 0 | 1 | 2 };
  }

  value(wireType: 0 | 1 | 2): WireValue {
    if (wireType === 0) return this.#varint();
    return wireType === 1 ? this.#double() : this.part();
  }

  /** A length-delimited value. */
  part(): WireCursor {
    const length = Number(this.#varint());
    const start = this.#at;
    this.#at += length;
    return new WireCursor(this.bytes, start, this.#at);
  }

  /** Unsigned 64 bits. */
  #varint(): bigint {
    let bits = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.bytes[this.#at++]!;
      bits |= BigInt(byte & 127) << shift;
      if (byte < 128) return bits;
    }
  }

  #double(): number {
    this.#at += 8;
    return this.bytes.readDoubleLE(this.#at - 8);
  }
}
