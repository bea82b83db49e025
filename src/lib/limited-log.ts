import type { Logger } from "pino";
import type { Clock } from "./clock.ts";

const intervalMs = 10_000;

/** Warnings that one failure could repeat a thousand times: one goes through every ten seconds, and says how many did not. */
export class LimitedLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  #nextAtMs = -Infinity;
  #heldBack = 0;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param fields are told together with `heldBack`, the number of warnings since the last that went through */
  warn(fields: object, message: string): void {
    const now = this.#clock.monotonic();
    if (now < this.#nextAtMs) {
      this.#heldBack++;
      return;
    }
    this.#nextAtMs = now + intervalMs;
    this.#log.warn({ ...fields, heldBack: this.#heldBack }, message);
    this.#heldBack = 0;
  }
}
