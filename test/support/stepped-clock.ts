import type { Clock, Timer } from "../../src/lib/clock.ts";
import { VirtualClock } from "./virtual-clock.ts";

/** Turns of the event loop in which a request and its answer find their way between a client and a server of one process. */
const turnsPerStep = 12;

/**
 * A virtual clock for real parts over real connections within one process: time moves on in steps, and after each of
 * them what stands in the sockets is taken in.
 */
export class SteppedClock implements Clock {
  readonly #clock = new VirtualClock();

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    return this.#clock.setTimer(callback, delayMs);
  }

  /** @param stepMs a delay is as long as asked for, or up to so much longer */
  async advance(ms: number, stepMs = 50): Promise<void> {
    const until = this.monotonic() + ms;
    while (this.monotonic() < until) {
      await this.#clock.advance(Math.min(stepMs, until - this.monotonic()));
      await takeIn();
    }
  }

  /**
   * Moves time on until something has happened.
   *
   * @param what named in the error when it does not happen within `limitMs` of virtual time
   */
  async until(what: string, happened: () => boolean, limitMs: number, stepMs = 50): Promise<void> {
    const start = this.monotonic();
    while (!happened()) {
      if (this.monotonic() - start >= limitMs) throw new Error(`${what}: not within ${limitMs} ms of virtual time`);
      await this.advance(stepMs, stepMs);
    }
  }
}

async function takeIn(): Promise<void> {
  for (let turn = 0; turn < turnsPerStep; turn++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
