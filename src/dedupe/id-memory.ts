/**
 * The IDs of messages that are under way, and of those that were settled not long ago. Exact: an ID is compared whole.
 *
 * An ID takes 20 bytes of an entry and 5 to 11 of the index, in typed arrays that are made once; memory that is not used
 * yet costs nothing. Entries under way stay where they are; those of settled messages are chained in the order in which
 * they were settled, and the oldest is forgotten first. An ID that is no decimal number is kept as text beside its entry.
 */
import { readDecimalId } from "./decimal-id.ts";

export interface IdMemoryOptions {
  /** How long a settled ID is remembered. */
  readonly windowMs: number;
  /** How many settled IDs are remembered. */
  readonly maxIds: number;
  /** How many IDs are under way as a rule; more are not refused. */
  readonly maxUnderWay: number;
}

/** The end of a chain. */
const none = -1;

export class IdMemory {
  readonly #options: IdMemoryOptions;
  /** Of each entry the ID, its lower and its upper 32 bits. */
  #ids: Uint32Array;
  /** Of each entry when it was settled; Infinity while it is under way. */
  #settledAt: Float64Array;
  /** The entry that was settled after this one, or the next free one. */
  #next: Int32Array;
  /** Entry + 1 in the slot to which its ID hashes, or in the next free slot behind; 0 is a free slot. */
  #slots: Int32Array;
  #used = 0;
  #free = none;
  #oldest = none;
  #newest = none;
  #settled = 0;
  readonly #id = new Uint32Array(2);
  readonly #entryOfText = new Map<string, number>();
  readonly #textOfEntry = new Map<number, string>();

  constructor(options: IdMemoryOptions) {
    this.#options = options;
    const capacity = options.maxIds + options.maxUnderWay;
    this.#ids = new Uint32Array(2 * capacity);
    this.#settledAt = new Float64Array(capacity);
    this.#next = new Int32Array(capacity);
    this.#slots = emptySlots(capacity);
  }

  /** Number of settled IDs that are remembered. */
  get settled(): number {
    return this.#settled;
  }

  /** Bytes of the arrays. */
  get byteLength(): number {
    return [this.#ids, this.#settledAt, this.#next, this.#slots].reduce((sum, array) => sum + array.byteLength, 0);
  }

  /**
   * Forgets what was settled longer ago than the window. Called once before the IDs of a batch are entered.
   *
   * @param nowMs on the monotonic clock, as all moments here
   */
  expire(nowMs: number): void {
    const before = nowMs - this.#options.windowMs;
    while (this.#oldest !== none && this.#settledAt[this.#oldest]! <= before) this.#forgetOldest();
  }

  /**
   * Enters an ID as under way.
   *
   * @returns its new entry, or, when the ID is known, the complement (`~`) of the entry that it has
   */
  enter(id: string): number {
    if (!readDecimalId(id, this.#id)) return this.#enterText(id);
    const low = this.#id[0]!;
    const high = this.#id[1]!;
    let slot = this.#home(low, high);
    for (; this.#slots[slot] !== 0; slot = this.#after(slot)) {
      const entry = this.#slots[slot]! - 1;
      if (this.#ids[2 * entry] === low && this.#ids[2 * entry + 1] === high) return ~entry;
    }
    const entry = this.#take();
    this.#ids[2 * entry] = low;
    this.#ids[2 * entry + 1] = high;
    this.#insert(entry);
    return entry;
  }

  isUnderWay(entry: number): boolean {
    return this.#settledAt[entry] === Infinity;
  }

  /** The message of an entry under way is settled for good. */
  remember(entry: number, nowMs: number): void {
    this.#settledAt[entry] = nowMs;
    this.#next[entry] = none;
    if (this.#newest === none) this.#oldest = entry;
    else this.#next[this.#newest] = entry;
    this.#newest = entry;
    if (++this.#settled > this.#options.maxIds) this.#forgetOldest();
  }

  /** The message of an entry under way is given back. */
  forget(entry: number): void {
    const text = this.#textOfEntry.get(entry);
    if (text === undefined) this.#removeFromSlots(entry);
    else {
      this.#entryOfText.delete(text);
      this.#textOfEntry.delete(entry);
    }
    this.#next[entry] = this.#free;
    this.#free = entry;
  }

  #enterText(id: string): number {
    const known = this.#entryOfText.get(id);
    if (known !== undefined) return ~known;
    const entry = this.#take();
    this.#entryOfText.set(id, entry);
    this.#textOfEntry.set(entry, id);
    return entry;
  }

  #forgetOldest(): void {
    const entry = this.#oldest;
    this.#oldest = this.#next[entry]!;
    if (this.#oldest === none) this.#newest = none;
    this.#settled--;
    this.forget(entry);
  }

  /** A free entry, as under way. */
  #take(): number {
    let entry = this.#free;
    if (entry !== none) this.#free = this.#next[entry]!;
    else {
      if (this.#used === this.#next.length) this.#grow();
      entry = this.#used++;
    }
    this.#settledAt[entry] = Infinity;
    return entry;
  }

  #grow(): void {
    const capacity = this.#next.length * 2;
    this.#ids = copied(this.#ids, new Uint32Array(2 * capacity));
    this.#settledAt = copied(this.#settledAt, new Float64Array(capacity));
    this.#next = copied(this.#next, new Int32Array(capacity));
    const entries = this.#slots.filter((slot) => slot !== 0);
    this.#slots = emptySlots(capacity);
    for (const entry of entries) this.#insert(entry - 1);
  }

  #insert(entry: number): void {
    let slot = this.#homeOf(entry);
    while (this.#slots[slot] !== 0) slot = this.#after(slot);
    this.#slots[slot] = entry + 1;
  }

  /** Takes an entry out, and moves those behind it that could not be where they belong because of it. */
  #removeFromSlots(entry: number): void {
    let hole = this.#homeOf(entry);
    while (this.#slots[hole] !== entry + 1) hole = this.#after(hole);
    for (let slot = this.#after(hole); this.#slots[slot] !== 0; slot = this.#after(slot)) {
      const home = this.#homeOf(this.#slots[slot]! - 1);
      if (this.#distance(home, slot) < this.#distance(hole, slot)) continue;
      this.#slots[hole] = this.#slots[slot]!;
      hole = slot;
    }
    this.#slots[hole] = 0;
  }

  #homeOf(entry: number): number {
    return this.#home(this.#ids[2 * entry]!, this.#ids[2 * entry + 1]!);
  }

  #home(low: number, high: number): number {
    let hash = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high, 0xc2b2ae35);
    hash = Math.imul(hash ^ (hash >>> 13), 0x27d4eb2f);
    return (hash ^ (hash >>> 16)) & (this.#slots.length - 1);
  }

  #after(slot: number): number {
    return (slot + 1) & (this.#slots.length - 1);
  }

  /** How many steps lead from one slot to another. */
  #distance(from: number, to: number): number {
    return (to - from) & (this.#slots.length - 1);
  }
}

/** At most three of four slots are in use, and their number is a power of two. */
function emptySlots(capacity: number): Int32Array {
  return new Int32Array(2 ** Math.ceil(Math.log2((capacity * 4) / 3)));
}

function copied<T extends { set(from: T): void }>(from: T, to: T): T {
  to.set(from);
  return to;
}
