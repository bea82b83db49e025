/** A write stream that an application created: its offsets, its rows that wait, its states and its life. */
import { HeldRows } from "./held-rows.ts";
import type { RowBatch } from "./stored-table.ts";

export type StreamType = "COMMITTED" | "PENDING" | "BUFFERED";

const hourMs = 3_600_000;

/** How long a stream is kept: without traffic, a pending one from its creation until it is committed. */
const lifetimesMs: Readonly<Record<StreamType, number>> = {
  COMMITTED: 3 * 24 * hourMs,
  PENDING: 24 * hourMs,
  BUFFERED: 7 * 24 * hourMs,
};

export class WriteStream {
  readonly id: string;
  readonly type: StreamType;
  readonly createdMs: number;
  #rowCount = 0;
  #visibleCount = 0;
  #isFinalized = false;
  #committedMs: number | undefined;
  #trafficMs: number;
  readonly #held = new HeldRows();

  constructor(id: string, type: StreamType, createdMs: number) {
    this.id = id;
    this.type = type;
    this.createdMs = createdMs;
    this.#trafficMs = createdMs;
  }

  /** Rows that were appended: the offset of the next one. */
  get rowCount(): number {
    return this.#rowCount;
  }

  /** Of these, the rows that are in the table. */
  get visibleCount(): number {
    return this.#visibleCount;
  }

  get isFinalized(): boolean {
    return this.#isFinalized;
  }

  /** When its rows came into the table for good: of a committed stream its creation, of a pending one its commit. */
  get commitMs(): number | undefined {
    return this.type === "COMMITTED" ? this.createdMs : this.#committedMs;
  }

  /** A stream that nobody used for its lifetime is gone; one that was committed is remembered. */
  isExpired(nowMs: number): boolean {
    if (this.#committedMs !== undefined) return false;
    const sinceMs = this.type === "PENDING" ? this.createdMs : this.#trafficMs;
    return nowMs - sinceMs >= lifetimesMs[this.type];
  }

  /** @returns the rows that are in the table from now on */
  append(batch: RowBatch, nowMs: number): readonly RowBatch[] {
    this.#rowCount += batch.count;
    this.#trafficMs = nowMs;
    this.#held.add(batch);
    return this.type === "COMMITTED" ? this.#show(this.#rowCount) : [];
  }

  /**
   * @param count of the stream's rows that are to be in its table, from the first
   * @returns those that were not
   */
  flush(count: number, nowMs: number): readonly RowBatch[] {
    this.#trafficMs = nowMs;
    return this.#show(count);
  }

  finalize(): void {
    this.#isFinalized = true;
  }

  /** @returns all its rows */
  commit(nowMs: number): readonly RowBatch[] {
    this.#committedMs = nowMs;
    return this.#show(this.#rowCount);
  }

  /** Rows that never got into the table are gone with the stream. */
  drop(): void {
    this.#held.clear();
  }

  #show(count: number): readonly RowBatch[] {
    const shown = this.#held.take(Math.max(count - this.#visibleCount, 0));
    this.#visibleCount = Math.max(count, this.#visibleCount);
    return shown;
  }
}
