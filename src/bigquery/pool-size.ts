/** How many connections a table needs: one more when requests keep waiting for room, one less when most room is unused. */
import type { Clock } from "../lib/clock.ts";

export interface PoolBounds {
  readonly minConnections: number;
  readonly maxConnections: number;
  /** Requests without an answer, per connection. */
  readonly maxInFlight: number;
}

/** A queue that even at its shortest holds requests longer than this, for a whole interval, is a standing queue. */
const standingQueueMs = 10;
const growIntervalMs = 1000;
const shrinkIntervalMs = 60_000;

export class PoolSize {
  readonly #bounds: PoolBounds;
  readonly #clock: Clock;
  #connections: number;
  #growAtMs: number;
  #shortestWaitMs = Infinity;
  #shrinkAtMs: number;
  #peakInFlight = 0;

  constructor(bounds: PoolBounds, clock: Clock) {
    this.#bounds = bounds;
    this.#clock = clock;
    this.#connections = bounds.minConnections;
    this.#growAtMs = clock.monotonic() + growIntervalMs;
    this.#shrinkAtMs = clock.monotonic() + shrinkIntervalMs;
  }

  /** How many connections there should be at most. */
  get connections(): number {
    return this.#connections;
  }

  /**
   * A request was sent.
   *
   * @param waitedMs how long it waited for room on a connection
   * @param inFlight requests without an answer on all connections, this one included
   */
  sent(waitedMs: number, inFlight: number): void {
    this.#shortestWaitMs = Math.min(this.#shortestWaitMs, waitedMs);
    this.#peakInFlight = Math.max(this.#peakInFlight, inFlight);
    const now = this.#clock.monotonic();
    if (now >= this.#growAtMs) this.#grow(now);
    if (now >= this.#shrinkAtMs) this.#shrink(now);
  }

  #grow(now: number): void {
    if (this.#shortestWaitMs > standingQueueMs) this.#resize(this.#connections + 1, now);
    this.#growAtMs = now + growIntervalMs;
    this.#shortestWaitMs = Infinity;
  }

  #shrink(now: number): void {
    const needed = Math.ceil((2 * this.#peakInFlight) / this.#bounds.maxInFlight);
    if (needed < this.#connections) this.#resize(this.#connections - 1, now);
    this.#shrinkAtMs = now + shrinkIntervalMs;
    this.#peakInFlight = 0;
  }

  #resize(connections: number, now: number): void {
    const { minConnections, maxConnections } = this.#bounds;
    this.#connections = Math.min(Math.max(connections, minConnections), maxConnections);
    this.#shrinkAtMs = now + shrinkIntervalMs;
  }
}
