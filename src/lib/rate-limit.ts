import type { Clock } from "./clock.ts";

/** Lets one event through per interval and counts those that were held back, so that a failure cannot flood the log. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  #nextAt = -Infinity;
  #heldBack = 0;

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
  }

  /** The number of events held back since the last one that went through, or undefined when this one is held back. */
  admit(): number | undefined {
    const now = this.#clock.monotonic();
    if (now < this.#nextAt) {
      this.#heldBack++;
      return undefined;
    }
    this.#nextAt = now + this.#intervalMs;
    const heldBack = this.#heldBack;
    this.#heldBack = 0;
    return heldBack;
  }
}
