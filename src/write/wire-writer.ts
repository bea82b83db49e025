/**
 * A growable buffer that takes protobuf's wire types. One writer lives as long as its batch; a row that is
 * refused is taken back by setting `position` to where it began.
 *
 * Conversions check room once per value (`reserve`) and then store bytes without further checks.
 */
import { varintWidth, writeVarint } from "../lib/wire-format.ts";

import { MillraceError } from "../errors.ts";

const two32 = 4_294_967_296;

/** A row needs more room than its writer may ever have. */
export class RowOverflow extends MillraceError {
  override readonly name: string = "RowOverflow";
}

export class WireWriter {
  bytes: Buffer;
  view: DataView;
  /** Offset of the next byte to be written. */
  position: number;
  /** Bytes that it may grow to. */
  readonly #maxCapacity: number;

  /** @param maxCapacity more room than any row may need: beyond it a write throws RowOverflow */
  constructor(capacity: number, maxCapacity = Infinity) {
    this.#maxCapacity = maxCapacity;
    this.bytes = Buffer.allocUnsafeSlow(capacity);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, capacity);
    this.position = 0;
  }

  /** Makes room for `count` more bytes. Call it before raw stores into `bytes`; it may replace `bytes` and `view`. */
  reserve(count: number): void {
    if (this.position + count > this.bytes.length) this.#grow(count);
  }

  #grow(count: number): void {
    const needed = this.position + count;
    if (needed > this.#maxCapacity) throw new RowOverflow("a row needs more room than its request may have");
    this.resize(Math.min(Math.max(this.bytes.length * 2, needed + 1024), this.#maxCapacity));
  }

  /** Goes on in a buffer of another size, which what was written must fit into. */
  resize(capacity: number): void {
    const resized = Buffer.allocUnsafeSlow(capacity);
    this.bytes.copy(resized, 0, 0, this.position);
    this.bytes = resized;
    this.view = new DataView(resized.buffer, resized.byteOffset, resized.length);
  }

  /**
   * Begins a field of at most `count` bytes behind its tag: makes room and writes the tag.
   *
   * @returns where its value begins; `position` stays where it is until the value is written
   */
  beginField(tag: number, count: number): number {
    this.reserve(count + 5);
    if (tag > 127) return writeVarint(this.bytes, this.position, tag);
    this.bytes[this.position] = tag;
    return this.position + 1;
  }

  /** An unsigned 32-bit integer as a varint: tags, lengths. */
  varint32(value: number): void {
    this.reserve(5);
    this.position = writeVarint(this.bytes, this.position, value);
  }

  /** A 64-bit integer, given as two unsigned 32-bit halves of its two's complement, as a varint. */
  varint64(low: number, high: number): void {
    this.reserve(10);
    this.position = putVarint64(this.bytes, this.position, low, high);
  }

  /** A safe integer (|value| ≤ 2^53 − 1) as int64 or int32: negative ones take ten bytes. */
  int64(value: number): void {
    this.reserve(10);
    this.position = putInt64(this.bytes, this.position, value);
  }

  /** Any int64. */
  bigint64(value: bigint): void {
    const bits = BigInt.asUintN(64, value);
    this.varint64(Number(bits & 0xffff_ffffn), Number(bits >> 32n));
  }

  bool(value: boolean): void {
    this.reserve(1);
    this.bytes[this.position++] = value ? 1 : 0;
  }

  /** Eight little-endian bytes. */
  double(value: number): void {
    this.reserve(8);
    this.view.setFloat64(this.position, value, true);
    this.position += 8;
  }

  /** A length prefix and the bytes `source[start, end)`. */
  lengthDelimited(source: Buffer, start: number, end: number): void {
    const length = end - start;
    this.reserve(length + 5);
    this.varint32(length);
    const bytes = this.bytes;
    let at = this.position;
    if (length < 48) for (let i = start; i < end; i++) bytes[at++] = source[i]!;
    else at += source.copy(bytes, at, start, end);
    this.position = at;
  }

  /** A length prefix and the text in UTF-8. */
  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.reserve(length + 5);
    this.varint32(length);
    this.position += this.bytes.write(value, this.position, "utf8");
  }

  /**
   * Opens a length-delimited part whose length is not known yet.
   *
   * @param width how many bytes the length will probably take; a wrong guess costs a move of the part
   * @returns where the part begins: hand it to `join`, with the same width
   */
  fork(width: number): number {
    this.reserve(width);
    const start = this.position;
    this.position = start + width;
    return start;
  }

  /** Closes the part that `fork` opened. Returns how many bytes the length took: the next guess. */
  join(start: number, width: number): number {
    const length = this.position - start - width;
    const needed = varintWidth(length);
    if (needed !== width) {
      this.reserve(5);
      this.bytes.copyWithin(start + needed, start + width, this.position);
      this.position += needed - width;
    }
    writeVarint(this.bytes, start, length);
    return needed;
  }
}

/*
 * The stores behind the writer's methods. They write at `at`, where room must have been made, and give back the offset behind.
 */

/** A 64-bit integer by its two unsigned halves. */
export function putVarint64(bytes: Buffer, at: number, low: number, high: number): number {
  while (high !== 0) {
    bytes[at++] = (low & 127) | 128;
    low = ((low >>> 7) | (high << 25)) >>> 0;
    high >>>= 7;
  }
  return writeVarint(bytes, at, low);
}

/** A safe integer as int64. */
export function putInt64(bytes: Buffer, at: number, value: number): number {
  if (value < 0) return putVarint64(bytes, at, value >>> 0, Math.floor(value / two32) >>> 0);
  if (value < two32) return writeVarint(bytes, at, value);
  // Four bytes of seven bits each, and what is left.
  const low = value & 0xfff_ffff;
  bytes[at] = low | 128;
  bytes[at + 1] = (low >>> 7) | 128;
  bytes[at + 2] = (low >>> 14) | 128;
  bytes[at + 3] = (low >>> 21) | 128;
  return writeVarint(bytes, at + 4, (value - low) / 0x1000_0000);
}
