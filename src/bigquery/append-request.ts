/** One append: all rows of a filled batch, or some of them once others were taken out. */
import type { Refusal } from "../errors.ts";
import type { Delivery } from "./delivery.ts";
import type { FaultSearch } from "./fault-search.ts";
import type { KeyLane } from "./key-lane.ts";
import type { PendingRows } from "./pending-rows.ts";

/** Where a request has to be sent again as it is, because it may be in the table already. */
export interface Binding {
  /** Whoever had the request is done with it: it may be sent. */
  giveBack(request: AppendRequest): void;
}

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
  /** Position of its rows in the write stream that it was sent to last; undefined for the default stream, which has none. */
  offset: number | undefined;
  /** Undefined: nobody needs it as it is. */
  binding: Binding | undefined;
  /** How often it failed and was to be sent again unchanged, and since when; monotonic milliseconds. */
  attempts = 0;
  failingSinceMs: number | undefined;
  /** Answers in a row that named some bad rows of it. */
  namingAnswers = 0;
  /** Runs when BigQuery refused it without naming a row; shared by its parts. */
  faultSearch: FaultSearch | undefined;
  /** When BigQuery refused it so, or what it was a part of; monotonic milliseconds. */
  refusedAtMs: number | undefined;

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
    return this.#part(rows);
  }

  #part(rows: readonly number[]): AppendRequest {
    const part = new AppendRequest(this.pending, this.order, this.waitingSinceMs, rows);
    part.faultSearch = this.faultSearch;
    part.refusedAtMs = this.refusedAtMs;
    part.failingSinceMs = this.failingSinceMs;
    return part;
  }

  /** Two requests with half of the rows each. Rows of one ordering key stay together, unless there are no others. */
  halves(): [AppendRequest, AppendRequest] {
    const middle = this.rowCount >> 1;
    if (this.pending.hasKeys) {
      const groups = this.#rowsByKey();
      if (groups.length > 1) return this.#splitBetween(groups, middle);
    }
    return [this.pick((i) => i < middle), this.pick((i) => i >= middle)];
  }

  #rowsByKey(): number[][] {
    const groups: number[][] = [];
    const ofLane = new Map<KeyLane, number[]>();
    for (let i = 0; i < this.rowCount; i++) {
      const row = this.row(i);
      const lane = this.pending.laneOf(row);
      let group = lane && ofLane.get(lane);
      if (!group) {
        groups.push((group = []));
        if (lane) ofLane.set(lane, group);
      }
      group.push(row);
    }
    return groups;
  }

  #splitBetween(groups: readonly number[][], middle: number): [AppendRequest, AppendRequest] {
    const first = [...groups[0]!];
    let taken = 1;
    for (; taken < groups.length - 1 && first.length + groups[taken]!.length <= middle; taken++) {
      for (const row of groups[taken]!) first.push(row);
    }
    const second = groups.slice(taken).flat();
    const ascending = (a: number, b: number): number => a - b;
    return [this.#part(first.sort(ascending)), this.#part(second.sort(ascending))];
  }

  /** Without rows that are not to be sent again; itself when there are none. */
  withoutGone(): AppendRequest {
    if (!this.pending.partlyGone) return this;
    const kept = this.pick((i) => !this.pending.isGone(this.row(i)));
    if (kept.rowCount === this.rowCount) return this;
    this.pending.release(this.rowCount - kept.rowCount);
    kept.attempts = this.attempts;
    kept.namingAnswers = this.namingAnswers;
    return kept;
  }

  /** Another part of the same batch has to get its fate first: it has earlier rows of an ordering key of this one. */
  get mustWait(): boolean {
    if (this.whole || !this.pending.hasKeys) return false;
    const seen = new Set<KeyLane>();
    for (let i = 0; i < this.rowCount; i++) {
      const lane = this.pending.laneOf(this.row(i));
      if (!lane || seen.has(lane)) continue;
      if (lane.firstRow !== this.row(i)) return true;
      seen.add(lane);
    }
    return false;
  }

  /** All its rows are in the table. */
  stored(): void {
    if (!this.#picked) this.pending.allStored();
    else for (const row of this.#picked) this.pending.stored(row);
  }

  /** @param keyWaits everything of the row's ordering key that comes behind it is given back */
  refuse(position: number, refusal: Refusal, keyWaits: boolean): void {
    this.pending.refuse(this.row(position), refusal, keyWaits);
  }

  /** Its rows need no bytes any more: their messages are transcoded again, or were abandoned. */
  release(): void {
    this.pending.release(this.rowCount);
  }

  /** Calls back with every row that has no fate yet, and its delivery. */
  forEachRow(visit: (row: number, delivery: Delivery) => void): void {
    for (let i = 0; i < this.rowCount; i++) {
      const row = this.row(i);
      if (!this.pending.isGone(row)) visit(row, this.pending.deliveryOf(row));
    }
  }

  /** Gives back the messages of rows that belong to some deliveries, and what comes behind them in their keys. */
  abandon(given: (delivery: Delivery) => boolean): void {
    this.forEachRow((row, delivery) => {
      if (given(delivery)) this.pending.abandon(row);
    });
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
