/**
 * The keys that the objects of one payload have so far, to find one that comes twice. One table serves all objects, whatever
 * their depth: each has a number, and a key is looked up together with the number of its object. Nothing is cleared
 * between payloads; entries of objects that are gone count as free.
 */
import type { JsonReader } from "./json-reader.ts";

/** Entries of a new table: a power of two. */
const initialSlots = 1024;
/** A table that has become larger is not kept for the next payload. */
const keptSlots = 65_536;
/** After so many steps a key goes to the overflow set, so that keys made to collide cannot make a search long. */
const maxProbes = 64;
/** Where the numbers of objects begin again. */
const lastObject = 2 ** 30;

/** Numbers per entry: object, hash, start, and length (−1 − length of the source for a key with escapes). */
const width = 4;

export class KeySet {
  readonly #reader: JsonReader;
  #entries = new Int32Array(initialSlots * width);
  #mask = initialSlots - 1;
  #used = 0;
  /** Keys for which there was no place near enough, with the number of their object in front. */
  readonly #overflow = new Set<string>();
  #object = 0;
  #firstObject = 1;

  /** @param reader has the payload whose keys are added */
  constructor(reader: JsonReader) {
    this.#reader = reader;
  }

  /** A new payload begins: the objects seen so far are gone. */
  clear(): void {
    if (this.#object < this.#firstObject) return;
    this.#used = 0;
    if (this.#overflow.size > 0) this.#overflow.clear();
    if (this.#mask >= keptSlots || this.#object > lastObject) {
      this.#resize(initialSlots);
      this.#object = 0;
    }
    this.#firstObject = this.#object + 1;
  }

  /** The number of a new object. */
  beginObject(): number {
    return ++this.#object;
  }

  /**
   * Adds the key that the reader has just scanned, `[start, close)`, to an object.
   *
   * @returns false when the object has it already
   */
  add(object: number, start: number, close: number): boolean {
    if (this.#used * 2 > this.#mask) this.#grow();
    const { hash, escaped } = this.#reader;
    return this.#put(object, hash, start, escaped ? -1 - (close - start) : close - start);
  }

  #put(object: number, hash: number, start: number, length: number): boolean {
    const entries = this.#entries;
    let slot = (hash + Math.imul(object, 0x9e3779b1)) & this.#mask;
    for (let probes = 0; probes < maxProbes; probes++) {
      const at = slot * width;
      if (entries[at]! < this.#firstObject) {
        if (this.#overflow.size > 0 && this.#overflow.has(this.#overflowKey(object, start, length))) return false;
        entries[at] = object;
        entries[at + 1] = hash;
        entries[at + 2] = start;
        entries[at + 3] = length;
        this.#used++;
        return true;
      }
      const alike = entries[at] === object && entries[at + 1] === hash;
      if (alike && this.#isSameKey(entries[at + 2]!, entries[at + 3]!, start, length)) return false;
      slot = (slot + 1) & this.#mask;
    }
    const before = this.#overflow.size;
    return this.#overflow.add(this.#overflowKey(object, start, length)).size > before;
  }

  #isSameKey(start: number, length: number, otherStart: number, otherLength: number): boolean {
    if (length < 0 || otherLength < 0) return this.#keyText(start, length) === this.#keyText(otherStart, otherLength);
    if (length !== otherLength) return false;
    const bytes = this.#reader.bytes;
    for (let i = 0; i < length; i++) if (bytes[start + i] !== bytes[otherStart + i]) return false;
    return true;
  }

  #overflowKey(object: number, start: number, length: number): string {
    return `${object}:${this.#keyText(start, length)}`;
  }

  /** One character per byte of the key. */
  #keyText(start: number, length: number): string {
    const reader = this.#reader;
    if (length >= 0) return reader.bytes.toString("latin1", start, start + length);
    const resolved = reader.resolve(start, start - 1 - length);
    return reader.scratch.toString("latin1", 0, resolved);
  }

  #grow(): void {
    const old = this.#entries;
    this.#resize((this.#mask + 1) * 4);
    this.#used = 0;
    for (let at = 0; at < old.length; at += width) {
      if (old[at]! >= this.#firstObject) this.#put(old[at]!, old[at + 1]!, old[at + 2]!, old[at + 3]!);
    }
  }

  #resize(slots: number): void {
    this.#entries = new Int32Array(slots * width);
    this.#mask = slots - 1;
  }
}
