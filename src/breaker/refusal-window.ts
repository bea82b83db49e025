import type { RefusalCode } from "../errors.ts";
import { Queue } from "../lib/queue.ts";
import type { Outcomes } from "../message.ts";

/** Messages with a fate, and how many of them were refused for what. */
interface Bucket {
  messages: number;
  readonly refused: Map<RefusalCode, number>;
}

/** How far the window may be longer than it should be, besides by the last batch. */
const precision = 1 / 100;

/** How the last messages fared. It is counted in buckets of one hundredth of the window, or of a batch that is larger. */
export class RefusalWindow {
  readonly #size: number;
  readonly #buckets = new Queue<Bucket>();
  readonly #refused = new Map<RefusalCode, number>();
  #filling: Bucket | undefined;
  #messages = 0;

  constructor(size: number) {
    this.#size = size;
  }

  /** There were at least as many messages as the window is long. */
  get full(): boolean {
    return this.#messages >= this.#size;
  }

  get messages(): number {
    return this.#messages;
  }

  get refused(): number {
    let sum = 0;
    for (const count of this.#refused.values()) sum += count;
    return sum;
  }

  /** Of the messages, the share that was refused. */
  get share(): number {
    return this.#messages === 0 ? 0 : this.refused / this.#messages;
  }

  /** The codes of refusals with their counts, the most frequent first. */
  get codes(): readonly (readonly [RefusalCode, number])[] {
    return [...this.#refused].filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a);
  }

  /** Adds what became of a batch; what was abandoned has no fate. */
  add(outcomes: Outcomes): void {
    const bucket = this.#bucket();
    let fates = outcomes.length;
    for (const outcome of outcomes.exceptions.values()) {
      if (outcome.kind === "abandoned") fates--;
      if (outcome.kind !== "refused") continue;
      const { code } = outcome.refusal;
      bucket.refused.set(code, (bucket.refused.get(code) ?? 0) + 1);
      this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
    }
    bucket.messages += fates;
    this.#messages += fates;
    while (this.#messages - this.#buckets.first!.messages >= this.#size) this.#dropOldest();
  }

  clear(): void {
    this.#buckets.takeAll();
    this.#refused.clear();
    this.#filling = undefined;
    this.#messages = 0;
  }

  #bucket(): Bucket {
    if (!this.#filling || this.#filling.messages >= this.#size * precision) {
      this.#filling = { messages: 0, refused: new Map() };
      this.#buckets.push(this.#filling);
    }
    return this.#filling;
  }

  #dropOldest(): void {
    const { messages, refused } = this.#buckets.shift()!;
    this.#messages -= messages;
    for (const [code, count] of refused) this.#refused.set(code, this.#refused.get(code)! - count);
  }
}
