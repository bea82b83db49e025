/** Reads protobuf's wire format out of untrusted bytes. */
import { InvalidValue } from "./cell.ts";

export const varintWire = 0;
export const fixed64Wire = 1;
export const lengthWire = 2;
export const fixed32Wire = 5;

/** A place in a buffer. Numbers are left as two halves, so that reading one makes no object. */
export class WireReader {
  bytes: Buffer;
  position: number;
  end: number;
  /** Both halves of the number that was read last, unsigned. */
  low = 0;
  high = 0;

  constructor(bytes: Buffer = Buffer.alloc(0), position = 0, end = bytes.length) {
    this.bytes = bytes;
    this.position = position;
    this.end = end;
  }

  get done(): boolean {
    return this.position >= this.end;
  }

  /** Reads a varint into `low` and `high`. @throws InvalidValue */
  varint(): void {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (this.position >= this.end) throw new InvalidValue("Bytes end inside a number");
      const byte = this.bytes[this.position++]!;
      const part = byte & 0x7f;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) {
        low |= part << 28;
        high = part >>> 4;
      } else high |= part << (shift - 32);
      if (byte < 0x80) {
        this.low = low >>> 0;
        this.high = high >>> 0;
        return;
      }
    }
    throw new InvalidValue("Number has more than ten bytes");
  }

  /** A tag: field number times 8, plus the wire type. @throws InvalidValue */
  tag(): number {
    this.varint();
    if (this.high !== 0 || this.low < 8) throw new InvalidValue("Tag is no valid field number");
    return this.low;
  }

  fixed32(): void {
    const at = this.#advance(4);
    this.low = this.bytes.readUInt32LE(at);
    this.high = 0;
  }

  fixed64(): void {
    const at = this.#advance(8);
    this.low = this.bytes.readUInt32LE(at);
    this.high = this.bytes.readUInt32LE(at + 4);
  }

  /** Reads a length, moves behind what it measures, and returns where that begins. @throws InvalidValue */
  lengthDelimited(): number {
    this.varint();
    if (this.high !== 0) throw new InvalidValue("Length goes beyond the end");
    return this.#advance(this.low);
  }

  /** @throws InvalidValue on groups and unknown wire types */
  skip(wireType: number): void {
    if (wireType === varintWire) this.varint();
    else if (wireType === fixed64Wire) this.#advance(8);
    else if (wireType === lengthWire) this.lengthDelimited();
    else if (wireType === fixed32Wire) this.#advance(4);
    else throw new InvalidValue(`Wire type ${wireType} is not used in rows`);
  }

  #advance(length: number): number {
    const at = this.position;
    if (length > this.end - at) throw new InvalidValue("Length goes beyond the end");
    this.position = at + length;
    return at;
  }
}
