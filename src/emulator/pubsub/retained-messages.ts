/** Messages that are kept for replay after their work is done, up to an age. */
import type { StoredMessage } from "./stored-message.ts";

/** Below this number old ones are not looked for. */
const leastPruned = 1024;

export class RetainedMessages {
  readonly #keptFromMs: () => number;
  #messages: StoredMessage[] = [];
  #pruneAt = leastPruned;

  /** @param keptFromMs messages published before that are let go */
  constructor(keptFromMs: () => number) {
    this.#keptFromMs = keptFromMs;
  }

  /** Messages come in any order. */
  add(message: StoredMessage): void {
    this.#messages.push(message);
    if (this.#messages.length >= this.#pruneAt) this.#prune();
  }

  /** Those that are kept at the moment, in the order in which they came. */
  all(): readonly StoredMessage[] {
    this.#prune();
    return this.#messages;
  }

  clear(): void {
    this.#messages = [];
  }

  #prune(): void {
    const from = this.#keptFromMs();
    this.#messages = this.#messages.filter(({ publication }) => publication.publishTimeMs >= from);
    this.#pruneAt = Math.max(leastPruned, 2 * this.#messages.length);
  }
}
