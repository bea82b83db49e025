/**
 * Items by the time at which they fall due. Items of one response share a deadline and so a bucket; an item leaves its
 * bucket in constant time, so that what is acked in time leaves nothing behind.
 */
import { Chain, type Chained } from "./chain.ts";

/** Times are rounded up to this many milliseconds, which bounds the number of buckets. */
const granularityMs = 10;

export class DeadlineQueue<Item extends Chained> {
  readonly #buckets = new Map<number, Chain<Item>>();
  /** The times of the buckets as a binary heap: the earliest first. */
  readonly #times: number[] = [];

  /** @param item in no chain at the time; `unchain` takes it back */
  schedule(item: Item, atMs: number): void {
    const time = Math.ceil(atMs / granularityMs) * granularityMs;
    let bucket = this.#buckets.get(time);
    if (!bucket) {
      bucket = new Chain<Item>();
      this.#buckets.set(time, bucket);
      this.#insert(time);
    }
    bucket.push(item);
  }

  /** When the earliest item falls due; Infinity when there is none. */
  nextAtMs(): number {
    for (;;) {
      const time = this.#times[0];
      if (time === undefined) return Infinity;
      if (this.#buckets.get(time)?.first) return time;
      this.#buckets.delete(time);
      this.#removeEarliest();
    }
  }

  /** Takes out one item that is due. */
  shiftDue(nowMs: number): Item | undefined {
    const time = this.nextAtMs();
    return time <= nowMs ? this.#buckets.get(time)?.shift() : undefined;
  }

  #insert(time: number): void {
    const heap = this.#times;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (heap[parent]! <= time) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = time;
  }

  #removeEarliest(): void {
    const heap = this.#times;
    const time = heap.pop();
    if (time === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= time) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = time;
  }
}
