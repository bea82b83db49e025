/**
 * Puts the fields of a record into the order of their numbers when the payload had them in another. Protobuf does not ask for that, but the
 * same row should be the same bytes, however its message is spelled.
 */
import type { WireWriter } from "../write/wire-writer.ts";

/** Up to so many fields are sorted by insertion. */
const fewFields = 32;
/** Index of a field in the payload, in the low bits of a sort key; BigQuery has at most 10,000 columns. */
const indexBits = 14;
const indexMask = (1 << indexBits) - 1;

let scratch = Buffer.allocUnsafeSlow(4096);

export class FieldOrder {
  /** Per field in the order of the payload: its slot and index as one number, and where it begins in the row. */
  readonly #keys: Int32Array;
  readonly #starts: Int32Array;
  #count = 0;
  #inOrder = true;
  #lastSlot = -1;

  /** @param slots how many different fields there are */
  constructor(slots: number) {
    this.#keys = new Int32Array(slots);
    this.#starts = new Int32Array(slots + 1);
  }

  /** A new object of the record. */
  begin(): void {
    this.#count = 0;
    this.#inOrder = true;
    this.#lastSlot = -1;
  }

  /** The field of this slot begins at `position` of the row. */
  add(slot: number, position: number): void {
    if (slot < this.#lastSlot) this.#inOrder = false;
    this.#lastSlot = slot;
    this.#starts[this.#count] = position;
    this.#keys[this.#count] = (slot << indexBits) | this.#count;
    this.#count++;
  }

  /** The object has ended: sorts what was written since its first field. */
  restore(out: WireWriter): void {
    if (!this.#inOrder) this.#sort(out);
  }

  #sort(out: WireWriter): void {
    const starts = this.#starts;
    const first = starts[0]!;
    const length = out.position - first;
    starts[this.#count] = out.position;
    if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(length * 2);
    out.bytes.copy(scratch, 0, first, out.position);
    let to = first;
    for (const key of this.#sortedKeys()) {
      const index = key & indexMask;
      to += scratch.copy(out.bytes, to, starts[index]! - first, starts[index + 1]! - first);
    }
  }

  #sortedKeys(): Int32Array {
    const keys = this.#keys.subarray(0, this.#count);
    if (keys.length > fewFields) return keys.sort();
    for (let i = 1; i < keys.length; i++) {
      const key = keys[i]!;
      let j = i;
      for (; j > 0 && keys[j - 1]! > key; j--) keys[j] = keys[j - 1]!;
      keys[j] = key;
    }
    return keys;
  }
}
