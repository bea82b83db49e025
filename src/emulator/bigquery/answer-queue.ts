/** Answers of one stream: each no earlier than it is due, and all in the order of their requests. */
import { type Clock, pause } from "../../lib/clock.ts";

/** Gives an answer; what it returns says whether the stream goes on. */
type Give = () => boolean;

export class AnswerQueue {
  readonly #clock: Clock;
  readonly #waiting: { readonly give: Give; readonly dueMs: number }[] = [];
  #isDraining = false;
  #isOver = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** No answer was given that ended the stream. */
  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** @param delayMs from now; an answer that waits for none before it and is not delayed is given at once */
  add(give: Give, delayMs = 0): void {
    if (this.#isOver) return;
    if (delayMs === 0 && !this.#isDraining) {
      this.#isOver = !give();
      return;
    }
    this.#waiting.push({ give, dueMs: this.#clock.monotonic() + delayMs });
    if (!this.#isDraining) void this.#drain();
  }

  /** Gives no more answers. */
  close(): void {
    this.#isOver = true;
    this.#waiting.length = 0;
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (let next = this.#waiting.shift(); next && !this.#isOver; next = this.#waiting.shift()) {
      const leftMs = next.dueMs - this.#clock.monotonic();
      if (leftMs > 0) await pause(this.#clock, leftMs);
      if (!this.#isOver) this.#isOver = !next.give();
    }
    this.#isDraining = false;
  }
}
