/** Reads protobuf's wire format where it lies. Every step is checked against the end of the part it is in. */
import { MillraceError } from "../errors.ts";

/** The bytes are no protobuf message. */
export class MalformedResponse extends MillraceError {
  override readonly name: string = "MalformedResponse";
}

const varint = 0;
const fixed64 = 1;
const lengthDelimited = 2;
const fixed32 = 5;

export class WireCursor {
  readonly bytes: Buffer;
  /** Offset of the next byte to be read. */
  position: number;

  constructor(bytes: Buffer, position = 0) {
    this.bytes = bytes;
    this.position = position;
  }

  /** The low 32 bits of a varint, unsigned: tags and lengths; of an int32, its bits. */
  varint32(end: number): number {
    const bytes = this.bytes;
    let at = this.position;
    let byte = at < end ? bytes[at++]! : truncated();
    let value = byte & 127;
    for (let shift = 7; byte > 127; shift += 7) {
      if (at >= end || shift > 63) truncated();
      byte = bytes[at++]!;
      if (shift < 32) value |= (byte & 127) << shift;
    }
    this.position = at;
    return value >>> 0;
  }

  /** A varint as int64. */
  varint64(end: number): bigint {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (this.position >= end || shift > 63n) truncated();
      const byte = this.bytes[this.position++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asIntN(64, value);
    }
  }

  /** Reads the length of a part and returns the offset behind its last byte; `position` is its first. */
  part(end: number): number {
    const length = this.varint32(end);
    const partEnd = this.position + length;
    if (partEnd > end) truncated();
    return partEnd;
  }

  /** Passes over the value that belongs to `tag`. */
  skip(tag: number, end: number): void {
    const type = tag & 7;
    if (type === lengthDelimited) this.position = this.part(end);
    else if (type === varint) this.varint32(end);
    else if (type === fixed64) this.#advance(8, end);
    else if (type === fixed32) this.#advance(4, end);
    else throw new MalformedResponse(`A field has wire type ${type}, which the service does not use.`);
  }

  #advance(count: number, end: number): void {
    this.position += count;
    if (this.position > end) truncated();
  }
}

function truncated(): never {
  throw new MalformedResponse("A field ends behind the part that holds it.");
}
