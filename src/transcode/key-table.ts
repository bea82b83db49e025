/**
 * The keys that objects of one record may have. A walk guesses the next key from the one before and compares it word by word;
 * only when the guess fails is the key hashed and looked up here. Spellings that differ from the table's in case,
 * and keys without a column, are learned as they come, up to a limit.
 */
import { foldName } from "../schema/column-rules.ts";
import { backslash, blank, quote } from "../read/ascii.ts";
import { hashOf } from "../read/key-hash.ts";
import type { ColumnStep } from "./record-step.ts";

/** Spellings that are learned per record, and the longest of them in bytes: hostile keys must not fill the memory. */
const maxLearned = 256;
const maxLearnedBytes = 128;

/** One spelling of a key. */
export class Key {
  /** Its column; undefined when it has none. */
  readonly step: ColumnStep | undefined;
  /** What it is marked as seen by: the same for all spellings of a column. */
  readonly slot: number;
  readonly hash: number;
  /** The key in quotes and a colon behind it, as a payload has it. */
  readonly pattern: Buffer;
  /** Of the pattern, in bytes. */
  readonly length: number;
  /** `pattern` in words of four bytes; the last overlaps the one before unless it fits. */
  readonly words: Int32Array;
  /** The key that followed this one the last time: the next guess. */
  next: Key | undefined = undefined;

  constructor(name: Buffer, step: ColumnStep | undefined, slot: number) {
    this.step = step;
    this.slot = slot;
    this.hash = hashOf(name, 0, name.length);
    this.pattern = Buffer.concat([Buffer.from('"'), name, Buffer.from('":')]);
    this.length = this.pattern.length;
    this.words = Int32Array.from({ length: Math.ceil(this.length / 4) }, (_, i) =>
      this.pattern.readInt32LE(Math.min(i * 4, this.length - 4)),
    );
  }

  /** A payload that goes on to `end` has this key at `at`, in quotes, without escapes, and the colon right behind it. */
  isAt(view: DataView, at: number, end: number): boolean {
    const words = this.words;
    const last = at + this.length - 4;
    if (last + 4 > end) return false;
    const full = words.length - 1;
    for (let i = 0; i < full; i++, at += 4) if (view.getInt32(at, true) !== words[i]) return false;
    return view.getInt32(last, true) === words[full];
  }
}

export class KeyTable {
  readonly #steps: ReadonlyMap<string, ColumnStep>;
  readonly #slots: (Key | undefined)[];
  readonly #mask: number;
  readonly #columnCount: number;
  /** The key of the first column. */
  readonly first: Key | undefined;
  #learned = 0;
  #unknown = 0;

  constructor(steps: readonly ColumnStep[]) {
    this.#steps = new Map(steps.map((step) => [foldName(step.plan.column.name), step]));
    this.#columnCount = steps.length;
    const size = 2 ** Math.ceil(Math.log2((steps.length + maxLearned) * 2));
    this.#slots = Array.from({ length: size }, () => undefined);
    this.#mask = size - 1;
    const keys = steps.map((step) => new Key(Buffer.from(step.plan.column.name), step, step.slot));
    for (const [index, key] of keys.entries()) {
      key.next = keys[index + 1];
      this.#put(key);
    }
    this.first = keys[0];
  }

  /** How many different slots the keys of this table may have. */
  get slotCount(): number {
    return this.#columnCount + maxLearned;
  }

  /** The key whose characters are `bytes[start, end)`, if the table has it in this spelling. */
  find(hash: number, bytes: Buffer, start: number, end: number): Key | undefined {
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const key = this.#slots[slot];
      if (key === undefined) return undefined;
      if (key.hash === hash && isNamed(key, bytes, start, end)) return key;
    }
  }

  /** The column that a key means which `find` does not know, in whatever case it is spelled. */
  columnOf(name: string): ColumnStep | undefined {
    return this.#steps.get(foldName(name));
  }

  /**
   * A spelling, `bytes[start, end)`, that is met for the first time. It is kept if there is room, and if a payload can have it without
   * escapes: what a guess compares with must be JSON.
   *
   * @returns undefined when it has neither a column nor room
   */
  learn(bytes: Buffer, start: number, end: number, step: ColumnStep | undefined): Key | undefined {
    const isKept = this.#learned < maxLearned && isLearnable(bytes, start, end);
    if (!isKept && step === undefined) return undefined;
    const name = Buffer.from(bytes.subarray(start, end));
    if (!isKept) return new Key(name, step, step!.slot);
    this.#learned++;
    const key = new Key(name, step, step ? step.slot : this.#columnCount + this.#unknown++);
    this.#put(key);
    return key;
  }

  #put(key: Key): void {
    let slot = key.hash & this.#mask;
    while (this.#slots[slot] !== undefined) slot = (slot + 1) & this.#mask;
    this.#slots[slot] = key;
  }
}

function isLearnable(bytes: Buffer, start: number, end: number): boolean {
  if (end === start || end - start > maxLearnedBytes) return false;
  for (let i = start; i < end; i++) {
    const character = bytes[i]!;
    if (character < blank || character === quote || character === backslash) return false;
  }
  return true;
}

function isNamed(key: Key, bytes: Buffer, start: number, end: number): boolean {
  const pattern = key.pattern;
  if (end - start !== pattern.length - 3) return false;
  for (let i = start, j = 1; i < end; i++, j++) if (bytes[i] !== pattern[j]) return false;
  return true;
}
