/**
 * The order of the fields of a record. Protobuf does not ask for one, but the same row should be the same bytes, however its message is
 * spelled: when a payload had its members in another order than the table, what was written is sorted by field numbers.
 */
import type { WireWriter } from "../write/wire-writer.ts";

/** Up to so many fields are sorted by insertion. */
const fewFields = 32;
/** Index of a field as it was written, in the low bits of a sort key; BigQuery has at most 10,000 columns. */
const indexBits = 14;
const indexMask = (1 << indexBits) - 1;

export class FieldOrder {
  /** Per field as it was written: its number and index as one number, and where it begins. */
  readonly #keys: Int32Array;
  readonly #starts: Int32Array;
  #scratch = Buffer.allocUnsafeSlow(1024);

  /** @param fields how many different fields a record has at most */
  constructor(fields: number) {
    this.#keys = new Int32Array(fields);
    this.#starts = new Int32Array(fields + 1);
  }

  /** Sorts the fields of the record that begins at `start` and ends at the writer's position. Those of one number stand together. */
  restore(out: WireWriter, start: number): void {
    const length = out.position - start;
    const count = this.#findFields(out, start);
    if (this.#scratch.length < length) this.#scratch = Buffer.allocUnsafeSlow(length * 2);
    copyBytes(out.bytes, start, out.position, this.#scratch, 0);
    const keys = this.#keys;
    sort(keys, count);
    let to = start;
    for (let i = 0; i < count; i++) {
      const index = keys[i]! & indexMask;
      const from = this.#starts[index]! - start;
      const end = this.#starts[index + 1]! - start;
      copyBytes(this.#scratch, from, end, out.bytes, to);
      to += end - from;
    }
  }

  /** Returns how many fields of different numbers there are. */
  #findFields(out: WireWriter, start: number): number {
    let count = 0;
    let last = 0;
    let at = start;
    while (at < out.position) {
      const fieldAt = at;
      const tag = varintAt(out.bytes, at);
      const number = tag >>> 3;
      at = skipValue(out.bytes, skipVarint(out.bytes, at), tag & 7);
      if (number === last) continue;
      this.#starts[count] = fieldAt;
      this.#keys[count] = (number << indexBits) | count;
      last = number;
      count++;
    }
    this.#starts[count] = at;
    return count;
  }
}

/** Sorts the first `count` keys. */
function sort(keys: Int32Array, count: number): void {
  if (count > fewFields) {
    keys.subarray(0, count).sort();
    return;
  }
  for (let i = 1; i < count; i++) {
    const key = keys[i]!;
    let j = i;
    for (; j > 0 && keys[j - 1]! > key; j--) keys[j] = keys[j - 1]!;
    keys[j] = key;
  }
}

/** Up to so many bytes a loop is quicker than the call of the native copy. */
const shortCopy = 64;

function copyBytes(source: Buffer, start: number, end: number, target: Buffer, to: number): void {
  if (end - start > shortCopy) source.copy(target, to, start, end);
  else for (let at = start; at < end; at++) target[to++] = source[at]!;
}

/** A varint that has at most 32 bits: a tag or a length. */
function varintAt(bytes: Buffer, at: number): number {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++]!;
    value |= (byte & 127) << shift;
    if (byte < 128) return value;
  }
}

function skipVarint(bytes: Buffer, at: number): number {
  while (bytes[at]! > 127) at++;
  return at + 1;
}

function skipValue(bytes: Buffer, at: number, wireType: number): number {
  if (wireType === 0) return skipVarint(bytes, at);
  return wireType === 1 ? at + 8 : skipVarint(bytes, at) + varintAt(bytes, at);
}
