/**
 * Requests that failed by themselves, and go again after a pause. While others are stored that is no state of the
 * pipeline, unless it goes on for long.
 */
import type { Clock } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import type { AppendObserver, RetryReason } from "./append-observer.ts";
import type { AppendRequest } from "./append-request.ts";
import { longMs, patience, requestBackoff, type Trouble } from "./holds.ts";
import type { Parking } from "./parking.ts";

export interface DelayedRetriesOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: AppendObserver;
  readonly parking: Parking;
  /** The pause of a request is over. */
  again(request: AppendRequest): void;
}

export class DelayedRetries {
  readonly #options: DelayedRetriesOptions;
  #trouble: Trouble | undefined;
  #lastStoredAtMs = -Infinity;

  constructor(options: DelayedRetriesOptions) {
    this.#options = options;
  }

  /** Why requests are tried again and again; undefined when it is not worth telling. */
  get trouble(): Trouble | undefined {
    return this.#trouble;
  }

  /** Rows were stored. */
  stored(): void {
    this.#lastStoredAtMs = this.#options.clock.monotonic();
    this.#trouble = undefined;
  }

  /** @param trouble what is told when it goes on */
  add(request: AppendRequest, trouble: Trouble, reason: RetryReason): void {
    const { clock, random, observer, parking } = this.#options;
    const now = clock.monotonic();
    const since = (request.failingSinceMs ??= now);
    const delayMs = backoffMs(request.attempts++, requestBackoff, random);
    const worthTelling = this.#lastStoredAtMs < since ? request.attempts > patience : now - since > longMs;
    if (worthTelling) this.#trouble = trouble;
    observer.retried(reason, 1);
    parking.keepFor(request, delayMs, () => this.#options.again(request));
  }
}
