import type { Clock, Timer } from "../lib/clock.ts";

/** Timers that belong to one thing and end with it; at most one of each name is set. */
export class NamedTimers {
  readonly #clock: Clock;
  readonly #timers = new Map<string, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `callback` once, `delayMs` milliseconds from now, in place of what was set under this name. */
  set(name: string, delayMs: number, callback: () => void): void {
    this.cancel(name);
    this.#timers.set(name, this.#clock.setTimer(callback, delayMs));
  }

  cancel(name: string): void {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  cancelAll(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }
}
