import type { Clock, Timer } from "../../src/lib/clock.ts";

/** A clock that stands still until a test moves it. */
export class VirtualClock implements Clock {
  #monotonic = 0;
  #offset: number;
  #sequence = 0;
  readonly #timers: { at: number; sequence: number; callback: () => void }[] = [];

  constructor(startMs = 1_700_000_000_000) {
    this.#offset = startMs;
  }

  now(): number {
    return this.#offset + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { at: this.#monotonic + Math.max(delayMs, 0), sequence: this.#sequence++, callback };
    this.#timers.push(timer);
    return {
      cancel: () => {
        const index = this.#timers.indexOf(timer);
        if (index >= 0) this.#timers.splice(index, 1);
      },
    };
  }

  /** Number of timers that are set. */
  get pending(): number {
    return this.#timers.length;
  }

  /** The machine's wall clock is set by `ms`; durations are not touched. */
  jump(ms: number): void {
    this.#offset += ms;
  }

  /** The machine is suspended for `ms`: time goes on, and nothing fires; what has fallen due fires late, with the next `advance`. */
  leap(ms: number): void {
    this.#monotonic += ms;
  }

  /** Moves time on and fires what falls due, in order; promises that timers resolve get their turn in between. */
  async advance(ms: number): Promise<void> {
    const until = this.#monotonic + ms;
    for (;;) {
      await settleMicrotasks();
      const next = this.#timers.filter((t) => t.at <= until).sort((a, b) => a.at - b.at || a.sequence - b.sequence)[0];
      if (!next) break;
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.#monotonic = Math.max(this.#monotonic, next.at);
      next.callback();
    }
    this.#monotonic = until;
    await settleMicrotasks();
  }
}

async function settleMicrotasks(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}
