import type { Clock, Timer } from "../../lib/clock.ts";

/** Calls once when nothing was heard for so long. One timer at a time, however much is heard. */
export class Silence {
  readonly #clock: Clock;
  readonly #maxMs: number;
  readonly #onEnd: () => void;
  #lastMs: number;
  #timer: Timer;

  constructor(clock: Clock, maxMs: number, onEnd: () => void) {
    this.#clock = clock;
    this.#maxMs = maxMs;
    this.#onEnd = onEnd;
    this.#lastMs = clock.monotonic();
    this.#timer = clock.setTimer(() => this.#check(), maxMs);
  }

  broken(): void {
    this.#lastMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const leftMs = this.#lastMs + this.#maxMs - this.#clock.monotonic();
    if (leftMs <= 0) this.#onEnd();
    else this.#timer = this.#clock.setTimer(() => this.#check(), leftMs);
  }
}
