const firstPauseMs = 10_000;
const maxPauseMs = 600_000;

/**
 * How long a message stays away that was given back because it cannot be written: 10 seconds at first, twice as long each time
 * it comes back, at most 10 minutes (the longest deadline that Pub/Sub takes), so that it does not spin.
 */
export class RedeliveryPause {
  readonly #pauses = new Map<string, number>();
  readonly #maxRemembered: number;

  /** @param maxRemembered messages whose last pause is remembered; beyond it the oldest are forgotten */
  constructor(maxRemembered = 100_000) {
    this.#maxRemembered = maxRemembered;
  }

  /** The pause for this return of the message, in milliseconds. */
  next(messageId: string): number {
    const last = this.#pauses.get(messageId);
    const pause = last === undefined ? firstPauseMs : Math.min(last * 2, maxPauseMs);
    // Put in anew, so that the order of the map is that of the last returns.
    this.#pauses.delete(messageId);
    this.#pauses.set(messageId, pause);
    if (this.#pauses.size > this.#maxRemembered) this.#pauses.delete(this.#pauses.keys().next().value!);
    return pause;
  }
}
