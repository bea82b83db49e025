/** A filled batch of rows until the last of them has its fate: which delivery each row belongs to, and who is told. */
import type { Refusal } from "../errors.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { RowBatch } from "../write/row-batch.ts";
import type { Delivery } from "./delivery.ts";
import type { KeyLane } from "./key-lane.ts";

export class PendingRows {
  readonly rows: RowBatch;
  /** Wrote the rows; its descriptor is theirs. */
  readonly transcoder: Transcoder;
  /** Runs parallel to the origins of `rows`. */
  readonly #deliveries: Delivery[] = [];
  readonly #onDone: (rows: RowBatch) => void;
  /** Rows that a request still needs. */
  #needed = 0;
  /** Row → its ordering key; undefined when no row has one. */
  #lanes: (KeyLane | undefined)[] | undefined;
  /** Rows that have their fate, or are messages again, while a request still carries them. They are not sent again. */
  #gone: Set<number> | undefined;

  /** @param onDone takes the batch of rows back when no request needs its bytes any more */
  constructor(rows: RowBatch, transcoder: Transcoder, onDone: (rows: RowBatch) => void) {
    this.rows = rows;
    this.transcoder = transcoder;
    this.#onDone = onDone;
  }

  /** The rows that follow belong to this delivery. */
  from(delivery: Delivery): void {
    this.rows.from(delivery.batch);
    const { length } = this.rows.origins;
    this.#deliveries[length - 1] = delivery;
    this.#deliveries.length = length;
  }

  /** No further row comes; from now on rows are released. */
  seal(): void {
    this.#needed = this.rows.rowCount;
  }

  /** The last row belongs to an ordering key. */
  keyed(lane: KeyLane): void {
    const row = this.rows.rowCount - 1;
    (this.#lanes ??= [])[row] = lane;
    lane.wrote(this, row);
  }

  /** Some rows have ordering keys. */
  get hasKeys(): boolean {
    return this.#lanes !== undefined;
  }

  /** The ordering key of a row; undefined when it has none. */
  laneOf(row: number): KeyLane | undefined {
    return this.#lanes?.[row];
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

  /** Some rows are not to be sent again. */
  get partlyGone(): boolean {
    return this.#gone !== undefined || this.#deliveries.some((delivery) => delivery.settled);
  }

  /** The row is not to be sent again. */
  isGone(row: number): boolean {
    return this.#gone?.has(row) === true || this.deliveryOf(row).settled;
  }

  /** The row is a message again. Its bytes are kept as long as a request carries it. */
  remove(row: number): void {
    (this.#gone ??= new Set()).add(row);
  }

  /** The message of a row is given back. Its bytes are kept as long as a request carries it. */
  giveBack(row: number): void {
    if (this.#gone?.has(row)) return;
    this.remove(row);
    this.deliveryOf(row).abandon(this.rows.messageOf(row));
  }

  /** The same, and with it everything of its key that comes behind it. */
  abandon(row: number): void {
    if (this.#gone?.has(row)) return;
    this.giveBack(row);
    this.laneOf(row)?.failedAt(row);
  }

  /** All rows are in the table. */
  allStored(): void {
    const count = this.rows.rowCount;
    if (this.#lanes) {
      for (let row = 0; row < count; row++) this.#rowStored(row);
    } else {
      const origins = this.rows.origins;
      for (let i = 0; i < origins.length; i++) {
        const end = origins[i + 1]?.firstRow ?? count;
        this.#deliveries[i]!.stored(end - origins[i]!.firstRow);
      }
    }
    this.release(count);
  }

  stored(row: number): void {
    this.#rowStored(row);
    this.release(1);
  }

  #rowStored(row: number): void {
    if (this.#gone?.has(row)) return;
    this.deliveryOf(row).stored(1);
    this.laneOf(row)?.rowDone(row);
  }

  /** @param keyWaits everything of the row's key that comes behind it is given back */
  refuse(row: number, refusal: Refusal, keyWaits: boolean): void {
    if (!this.#gone?.has(row)) {
      this.deliveryOf(row).refuse(this.rows.messageOf(row), refusal);
      const lane = this.laneOf(row);
      if (keyWaits) lane?.failedAt(row);
      else lane?.rowDone(row);
    }
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
