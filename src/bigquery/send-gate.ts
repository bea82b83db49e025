/**
 * Whether requests may be sent. A failure that concerns all of them shuts the gate for a while; then one request
 * goes alone, as a probe, and the gate opens when it comes through.
 */
import type { PipelineState } from "../message.ts";
import type { Clock } from "../lib/clock.ts";
import { type BackoffBounds, backoffMs } from "../lib/retry.ts";

/** Why nothing is sent. */
export interface Hold {
  readonly state: PipelineState;
  /** One sentence for a person. */
  readonly reason: string;
  readonly backoff: BackoffBounds;
  /** So many failures in a row are borne before the state is shown. */
  readonly patience: number;
}

export class SendGate {
  readonly #clock: Clock;
  readonly #random: () => number;
  #hold: Hold | undefined;
  #incident = 0;
  #failures = 0;
  #opensAtMs = 0;
  #probing = false;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** What is to be shown to a person; undefined when requests pass, or when it is too early to worry. */
  get shown(): Hold | undefined {
    return this.#hold && this.#failures > this.#hold.patience ? this.#hold : undefined;
  }

  /** The ticket of what is sent now. */
  get incident(): number {
    return this.#incident;
  }

  /** When requests could be sent again; monotonic milliseconds, in the past when the gate is open. */
  get opensAtMs(): number {
    return this.#opensAtMs;
  }

  /** Milliseconds until a request may be sent: 0 now, Infinity when the probe has to be answered first. */
  get waitMs(): number {
    if (!this.#hold) return 0;
    if (this.#probing) return Infinity;
    return Math.max(0, this.#opensAtMs - this.#clock.monotonic());
  }

  /** A request goes out. Returns a ticket, with which its fate is reported. */
  sent(): number {
    if (this.#hold) this.#probing = true;
    return this.#incident;
  }

  /** A request failed for a reason that concerns all of them. */
  shut(hold: Hold, ticket: number): void {
    // What went out before the gate was shut belongs to the same incident.
    if (ticket < this.#incident) return;
    this.#incident++;
    this.#failures = hold.state === this.#hold?.state ? this.#failures + 1 : 1;
    this.#hold = hold;
    this.#probing = false;
    this.#opensAtMs = this.#clock.monotonic() + backoffMs(this.#failures - 1, hold.backoff, this.#random);
  }

  /** BigQuery has dealt with a request, one way or the other. */
  passed(ticket: number): void {
    if (!this.#hold || ticket < this.#incident) return;
    this.#hold = undefined;
    this.#probing = false;
    this.#failures = 0;
    this.#opensAtMs = this.#clock.monotonic();
  }
}
