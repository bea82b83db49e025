/** Messages that wait to become rows, in the order in which they came: spans of neighbours, not single ones. */
import { Queue } from "../lib/queue.ts";
import type { Delivery } from "./delivery.ts";

/** Messages of a delivery: `next` ≤ i < `to`. */
export interface Span {
  readonly delivery: Delivery;
  next: number;
  to: number;
  /** Unknown fields are refused at once: the table was looked at because of them. */
  readonly final: boolean;
}

export class Spans {
  readonly #spans = new Queue<Span>();
  /** The last one, as long as it may become longer. */
  #open: Span | undefined;

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
    this.#spans.push({ delivery, next: 0, to: delivery.batch.length, final: false });
  }

  /** A message that was here before. */
  addAgain(delivery: Delivery, message: number, final: boolean): void {
    if (delivery.settled) return;
    const open = this.#open;
    if (open?.delivery === delivery && open.to === message && open.final === final) {
      open.to++;
    } else {
      this.#open = { delivery, next: message, to: message + 1, final };
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
