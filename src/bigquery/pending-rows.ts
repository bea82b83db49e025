/** A filled batch of rows until the last of them has its fate: which delivery each row belongs to, and who is told. */
import type { Refusal } from "../errors.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { RowBatch } from "../write/row-batch.ts";
import type { Delivery } from "./delivery.ts";

export class PendingRows {
  readonly rows: RowBatch;
  /** Wrote the rows; its descriptor is theirs. */
  readonly transcoder: Transcoder;
  /** Runs parallel to the origins of `rows`. */
  readonly #deliveries: Delivery[] = [];
  readonly #onDone: (rows: RowBatch) => void;
  /** Rows that a request still needs. */
  #needed = 0;

  /** @param onDone takes the batch of rows back when no request needs its bytes any more */
  constructor(rows: RowBatch, transcoder: Transcoder, onDone: (rows: RowBatch) => void) {
    this.rows = rows;
    this.transcoder = transcoder;
    this.#onDone = onDone;
  }

  /** The rows that follow belong to this delivery. */
  from(delivery: Delivery): void {
    this.rows.from(delivery.batch);
    if (this.#deliveries.at(-1) !== delivery) this.#deliveries.push(delivery);
  }

  /** No further row comes; from now on rows are released. */
  seal(): void {
    this.#needed = this.rows.rowCount;
  }

  deliveryOf(row: number): Delivery {
    const origins = this.rows.origins;
    let low = 0;
    let high = origins.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (origins[middle]!.firstRow <= row) low = middle;
      else high = middle - 1;
    }
    return this.#deliveries[low]!;
  }

  /** A delivery is settled that rows belong to: it was abandoned. */
  get partlyAbandoned(): boolean {
    return this.#deliveries.some((delivery) => delivery.settled);
  }

  /** All rows are in the table. */
  allStored(): void {
    const origins = this.rows.origins;
    for (let i = 0; i < origins.length; i++) {
      const end = origins[i + 1]?.firstRow ?? this.rows.rowCount;
      this.#deliveries[i]!.stored(end - origins[i]!.firstRow);
    }
    this.release(this.rows.rowCount);
  }

  stored(row: number): void {
    this.deliveryOf(row).stored(1);
    this.release(1);
  }

  refuse(row: number, refusal: Refusal): void {
    this.deliveryOf(row).refuse(this.rows.messageOf(row), refusal);
    this.release(1);
  }

  /** None of the rows is sent: the batch that was being filled is given up. */
  discard(): void {
    this.#onDone(this.rows);
  }

  /** So many rows need no bytes any more. */
  release(rows: number): void {
    if (rows === 0) return;
    this.#needed -= rows;
    if (this.#needed === 0) this.#onDone(this.rows);
  }
}
