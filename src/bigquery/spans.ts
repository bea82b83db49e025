/** Messages that wait to become rows, in the order in which they came: spans of neighbours, not single ones. */
import type { Clock } from "../lib/clock.ts";
import { Queue } from "../lib/queue.ts";
import type { Delivery } from "./delivery.ts";

/** Messages of a delivery: `next` ≤ i < `to`. */
export interface Span {
  readonly delivery: Delivery;
  next: number;
  to: number;
  /** Unknown fields are refused at once: the table was looked at because of them. */
  readonly final: boolean;
  /** Since when it waits; monotonic milliseconds. */
  readonly sinceMs: number;
}

export class Spans {
  readonly #clock: Clock;
  readonly #spans = new Queue<Span>();
  /** The last one, as long as it may become longer. */
  #open: Span | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get first(): Span | undefined {
    return this.#spans.first;
  }

  get length(): number {
    return this.#spans.length;
  }

  shift(): void {
    if (this.#spans.shift() === this.#open) this.#open = undefined;
  }

  /** All messages of a delivery. */
  add(delivery: Delivery): void {
    this.#open = undefined;
    const sinceMs = this.#clock.monotonic();
    this.#spans.push({ delivery, next: 0, to: delivery.batch.length, final: false, sinceMs });
  }

  /** A message that was here before. */
  addAgain(delivery: Delivery, message: number, final: boolean): void {
    if (delivery.settled) return;
    const open = this.#open;
    if (open?.delivery === delivery && open.to === message && open.final === final) {
      open.to++;
    } else {
      this.#open = { delivery, next: message, to: message + 1, final, sinceMs: this.#clock.monotonic() };
      this.#spans.push(this.#open);
    }
  }

  /** Removes the spans of some deliveries, and returns them. */
  remove(given: (delivery: Delivery) => boolean): readonly Span[] {
    const all = this.#spans.takeAll();
    for (const span of all) if (!given(span.delivery)) this.#spans.push(span);
    return all.filter((span) => given(span.delivery));
  }
}
