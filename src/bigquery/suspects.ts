/**
 * Requests that BigQuery refused without naming a row, while nothing else was stored: nobody knows whether it is their
 * rows or the table. They wait until other rows are stored; meanwhile one of them is tried again now and then, the
 * less often the longer it has been.
 */
import { Alarm } from "../lib/alarm.ts";
import type { Clock } from "../lib/clock.ts";
import type { AppendRequest } from "./append-request.ts";
import { patienceMs, pauseAfter } from "./holds.ts";
import type { Parking } from "./parking.ts";

export interface SuspectsOptions {
  readonly clock: Clock;
  readonly parking: Parking;
  /** A request is tried again, though nothing speaks for it. */
  retry(request: AppendRequest): void;
  /** Requests are tried again, because others were stored, or would have been. */
  resume(requests: readonly AppendRequest[]): void;
}

export class Suspects {
  readonly #options: SuspectsOptions;
  readonly #waiting = new Set<AppendRequest>();
  readonly #alarm: Alarm;
  /** Since when nothing was stored while some waited; monotonic milliseconds. */
  #sinceMs: number | undefined;

  constructor(options: SuspectsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, () => this.#retryFirst());
  }

  /** Nothing was stored for so long that it is worth telling. */
  get lasting(): boolean {
    return this.#sinceMs !== undefined && this.#options.clock.monotonic() - this.#sinceMs >= patienceMs;
  }

  add(request: AppendRequest): void {
    this.#options.parking.keep(request);
    this.#waiting.add(request);
    this.#sinceMs ??= this.#options.clock.monotonic();
    this.#setAlarm();
  }

  /** BigQuery takes rows: requests go on that this says something about. */
  taken(concerned: (request: AppendRequest) => boolean): void {
    this.#sinceMs = undefined;
    if (this.#waiting.size === 0) return;
    const going = [...this.#waiting].filter(concerned).filter((request) => this.#leave(request));
    this.#options.resume(going);
  }

  close(): void {
    this.#alarm.cancel();
    this.#waiting.clear();
  }

  #retryFirst(): void {
    const [first] = this.#waiting;
    if (!first) return;
    if (this.#leave(first)) this.#options.retry(first);
    if (this.#waiting.size > 0) this.#setAlarm();
  }

  #leave(request: AppendRequest): boolean {
    this.#waiting.delete(request);
    return this.#options.parking.leave(request);
  }

  #setAlarm(): void {
    const now = this.#options.clock.monotonic();
    this.#alarm.setAt(now + pauseAfter(now - (this.#sinceMs ?? now)));
  }
}
