import type { Clock, Timer } from "./clock.ts";

/** One timer for many moments: it calls back at the earliest that it was set to, once; then it can be set again. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: Timer | undefined;
  #atMs = Infinity;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** When it rings, on the monotonic clock; Infinity when it is not set. */
  get atMs(): number {
    return this.#atMs;
  }

  /** Has it ring at this moment of the monotonic clock, unless it rings before. Infinity changes nothing. */
  setAt(atMs: number): void {
    if (atMs >= this.#atMs) return;
    this.#timer?.cancel();
    this.#atMs = atMs;
    this.#timer = this.#clock.setTimer(() => this.#elapsed(), atMs - this.#clock.monotonic());
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#atMs = Infinity;
  }

  #elapsed(): void {
    this.#timer = undefined;
    this.#atMs = Infinity;
    this.#ring();
  }
}
