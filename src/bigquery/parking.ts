/** Requests that wait for something else than room: for their next try, or for a look at the table. */
import type { Clock, Timer } from "../lib/clock.ts";
import type { AppendRequest } from "./append-request.ts";

export class Parking {
  readonly #clock: Clock;
  readonly #parked = new Map<AppendRequest, Timer | undefined>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Batches of rows that requests here keep in memory; parts of one request share a batch. */
  get batches(): number {
    return this.#parked.size < 2
      ? this.#parked.size
      : new Set(Array.from(this.requests(), ({ pending }) => pending)).size;
  }

  requests(): Iterable<AppendRequest> {
    return this.#parked.keys();
  }

  has(request: AppendRequest): boolean {
    return this.#parked.has(request);
  }

  /** Keeps a request until `leave` is called for it. */
  keep(request: AppendRequest): void {
    this.#parked.set(request, undefined);
  }

  /** Keeps a request for so long, and calls back when it has left. */
  keepFor(request: AppendRequest, delayMs: number, left: () => void): void {
    const timer = this.#clock.setTimer(() => {
      if (this.leave(request)) left();
    }, delayMs);
    this.#parked.set(request, timer);
  }

  /** Returns false when the request was not here any more. */
  leave(request: AppendRequest): boolean {
    this.#parked.get(request)?.cancel();
    return this.#parked.delete(request);
  }

  clear(): void {
    for (const timer of this.#parked.values()) timer?.cancel();
    this.#parked.clear();
  }
}
