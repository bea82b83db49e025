/** Deletes a subscription that nobody has used for its expiration period (COMMON-07). */
import type { Clock, Timer } from "../../lib/clock.ts";

export interface Expiring {
  /** Infinity: never. */
  readonly expirationMs: number;
  /** Whether somebody is connected at the moment. */
  readonly inUse: boolean;
}

export class Expiration {
  readonly #clock: Clock;
  readonly #expiring: Expiring;
  readonly #onExpired: () => void;
  #lastUsedMs: number;
  #timer: Timer | undefined;

  constructor(clock: Clock, expiring: Expiring, onExpired: () => void) {
    this.#clock = clock;
    this.#expiring = expiring;
    this.#onExpired = onExpired;
    this.#lastUsedMs = clock.monotonic();
    this.#setTimer();
  }

  /** The period begins again. */
  touch(): void {
    this.#lastUsedMs = this.#clock.monotonic();
  }

  /** The period itself has changed. */
  restart(): void {
    this.touch();
    this.#setTimer();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #setTimer(): void {
    this.stop();
    if (this.#expiring.expirationMs === Infinity) return;
    this.#timer = this.#clock.setTimer(() => this.#check(), this.#leftMs());
  }

  /** The timer is set once a period, not once a use: it may find that the time has not come yet. */
  #check(): void {
    if (this.#expiring.inUse) this.touch();
    if (this.#leftMs() > 0) this.#setTimer();
    else this.#onExpired();
  }

  #leftMs(): number {
    return this.#lastUsedMs + this.#expiring.expirationMs - this.#clock.monotonic();
  }
}
