import { type Clock, type Timer, systemClock } from "../../src/lib/clock.ts";

/** The machine's time, which a test may push on: what was due in between falls due at once. */
export class PushedClock implements Clock {
  #pushedMs = 0;
  readonly #waiting = new Set<Waiting>();

  now(): number {
    return systemClock.now() + this.#pushedMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#pushedMs;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const waiting = { dueMs: this.monotonic() + Math.max(delayMs, 0), callback, timer: undefined };
    this.#waiting.add(waiting);
    this.#arm(waiting);
    return {
      cancel: () => {
        this.#waiting.delete(waiting);
        (waiting as Waiting).timer?.cancel();
      },
    };
  }

  push(ms: number): void {
    this.#pushedMs += ms;
    for (const waiting of this.#waiting) {
      waiting.timer?.cancel();
      this.#arm(waiting);
    }
  }

  #arm(waiting: Waiting): void {
    const fire = (): void => {
      this.#waiting.delete(waiting);
      waiting.callback();
    };
    waiting.timer = systemClock.setTimer(fire, waiting.dueMs - this.monotonic());
  }
}

interface Waiting {
  readonly dueMs: number;
  readonly callback: () => void;
  timer: Timer | undefined;
}
