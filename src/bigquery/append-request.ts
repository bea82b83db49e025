/** One append: all rows of a filled batch, or some of them once others were taken out. */
import type { Refusal } from "../errors.ts";
import type { Delivery } from "./delivery.ts";
import type { FaultSearch } from "./fault-search.ts";
import type { PendingRows } from "./pending-rows.ts";

export class AppendRequest {
  readonly pending: PendingRows;
  /** Rows that it carries, ascending; undefined: all rows of the batch, whose bytes are sent as they lie. */
  readonly #picked: readonly number[] | undefined;
  /** Position in the order of requests; parts of a request share it. */
  readonly order: number;
  /** Since when it waits for room on a connection; monotonic milliseconds. */
  waitingSinceMs: number;
  /** When it was sent last; monotonic milliseconds. */
  sentAtMs = 0;
  /** From the gate that let it out. */
  ticket = 0;
  /** How often it failed and was to be sent again unchanged. */
  attempts = 0;
  /** Runs when BigQuery refused it without naming a row; shared by its parts. */
  faultSearch: FaultSearch | undefined;

  constructor(pending: PendingRows, order: number, waitingSinceMs: number, picked?: readonly number[]) {
    this.pending = pending;
    this.order = order;
    this.waitingSinceMs = waitingSinceMs;
    this.#picked = picked;
  }

  get rowCount(): number {
    return this.#picked?.length ?? this.pending.rows.rowCount;
  }

  /** Bytes of the rows, as `ProtoRows` holds them. */
  get byteLength(): number {
    if (!this.#picked) return this.pending.rows.byteLength;
    let length = 0;
    for (const row of this.#picked) length += this.pending.rows.rowEnd(row) - this.pending.rows.rowStart(row);
    return length;
  }

  /** The rows lie in the batch's buffer one behind the other, with headroom in front. */
  get whole(): boolean {
    return this.#picked === undefined;
  }

  /** The row of the batch that stands at this position of the request. */
  row(position: number): number {
    return this.#picked ? this.#picked[position]! : position;
  }

  /** A request with the rows at some positions of this one. */
  pick(keep: (position: number) => boolean): AppendRequest {
    const rows: number[] = [];
    for (let i = 0; i < this.rowCount; i++) if (keep(i)) rows.push(this.row(i));
    const part = new AppendRequest(this.pending, this.order, this.waitingSinceMs, rows);
    part.faultSearch = this.faultSearch;
    return part;
  }

  halves(): [AppendRequest, AppendRequest] {
    const middle = this.rowCount >> 1;
    return [this.pick((i) => i < middle), this.pick((i) => i >= middle)];
  }

  /** Without rows whose messages were abandoned; itself when there are none. */
  withoutAbandoned(): AppendRequest {
    if (!this.pending.partlyAbandoned) return this;
    const kept = this.pick((i) => !this.pending.deliveryOf(this.row(i)).settled);
    this.pending.release(this.rowCount - kept.rowCount);
    return kept;
  }

  /** All its rows are in the table. */
  stored(): void {
    if (!this.#picked) this.pending.allStored();
    else for (const row of this.#picked) this.pending.stored(row);
  }

  refuse(position: number, refusal: Refusal): void {
    this.pending.refuse(this.row(position), refusal);
  }

  /** Its rows need no bytes any more: their messages are transcoded again, or were abandoned. */
  release(): void {
    this.pending.release(this.rowCount);
  }

  /** Calls back with the message of every row. */
  forEachMessage(visit: (delivery: Delivery, message: number) => void): void {
    for (let i = 0; i < this.rowCount; i++) {
      const row = this.row(i);
      visit(this.pending.deliveryOf(row), this.pending.rows.messageOf(row));
    }
  }

  /** Copies the rows' bytes to `target`, as `ProtoRows` holds them. */
  copyRows(target: Buffer, at: number): void {
    const rows = this.pending.rows;
    const bytes = rows.writer.bytes;
    if (!this.#picked) {
      bytes.copy(target, at, rows.rowStart(0), rows.writer.position);
      return;
    }
    let position = at;
    for (const row of this.#picked) position += bytes.copy(target, position, rows.rowStart(row), rows.rowEnd(row));
  }
}
