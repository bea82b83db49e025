/** Batches of rows that are filled again and again, so that their buffers are allocated once. */
import { RowBatch, type RowBatchLimits } from "../write/row-batch.ts";

export class RowBatchPool {
  readonly #maxFree: number;
  #limits: RowBatchLimits;
  #free: RowBatch[] = [];

  /** @param maxFree so many unused batches are kept */
  constructor(limits: RowBatchLimits, maxFree: number) {
    this.#limits = limits;
    this.#maxFree = maxFree;
  }

  /** Batches that are taken from now on have these limits. */
  set limits(limits: RowBatchLimits) {
    if (limits.maxRequestBytes === this.#limits.maxRequestBytes) return;
    this.#limits = limits;
    this.#free = [];
  }

  take(): RowBatch {
    return this.#free.pop() ?? new RowBatch(this.#limits);
  }

  /** Takes a batch back. One that has grown for a large row, or has other limits, is left to the garbage collector. */
  give(rows: RowBatch): void {
    const usual = rows.writer.bytes.length <= 2 * this.#limits.maxBytes + 65_536;
    if (!usual || rows.limits !== this.#limits || this.#free.length >= this.#maxFree) return;
    rows.clear();
    this.#free.push(rows);
  }
}
