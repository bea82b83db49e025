/** So much within a time: a bucket that empties steadily, and refuses while what was poured in stands above its brim. */
import type { Clock } from "../../lib/clock.ts";

export class RateLimit {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #msEach: number;
  /** When the bucket will be empty. */
  #emptyMs = 0;

  /** @param most within `windowMs`; Infinity: no limit */
  constructor(clock: Clock, most: number, windowMs: number) {
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#msEach = windowMs / most;
  }

  /** Whether there is room; if so, it is taken. An amount beyond the limit itself passes when the bucket is empty. */
  take(amount: number): boolean {
    const nowMs = this.#clock.monotonic();
    const emptyMs = Math.max(this.#emptyMs, nowMs);
    const addedMs = amount * this.#msEach;
    if (emptyMs > nowMs && emptyMs + addedMs > nowMs + this.#windowMs) return false;
    this.#emptyMs = emptyMs + addedMs;
    return true;
  }
}
