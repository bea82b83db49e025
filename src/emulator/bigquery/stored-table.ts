/** A table: its resource, its columns, and its rows as the bytes in which they came. */
import { type BoundWriter, BoundWriters } from "./bound-writer.ts";
import type { Cell } from "./cell.ts";
import type { Column, DefaultContext } from "./column.ts";
import { defaultTaker, type MissingValues } from "./missing-values.ts";
import { visitRows } from "./proto-rows.ts";
import { emptyCell, missingBy } from "./row-decoder.ts";
import { type TableName, textOfStream } from "./table-name.ts";
import type { WriteStream } from "./write-stream.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** What REST sets and gives back of a table. */
export interface TableState {
  readonly columns: readonly Column[];
  /** Labels, partitioning, constraints and the like: kept and given back, not acted on. */
  readonly settings: JsonObject;
  readonly createdMs: number;
  readonly modifiedMs: number;
}

/** The rows of one accepted append request. */
export interface RowBatch {
  readonly writer: BoundWriter;
  readonly missing: MissingValues;
  readonly context: DefaultContext;
  /** A serialized ProtoRows message that belongs to the table alone. */
  readonly protoRows: Buffer;
  readonly count: number;
  /** Position of the first row in its request. */
  readonly firstRow: number;
}

export class StoredTable {
  readonly name: TableName;
  /** Write streams that applications created, by id. */
  readonly streams = new Map<string, WriteStream>();
  #state: TableState;
  #writers: BoundWriters;
  #version = 1;
  #rowCount = 0;
  #byteCount = 0;
  readonly #batches: RowBatch[] = [];

  constructor(name: TableName, state: TableState) {
    this.name = name;
    this.#state = state;
    this.#writers = this.#newWriters();
  }

  get state(): TableState {
    return this.#state;
  }

  /** Counts up when the columns change. */
  get version(): number {
    return this.#version;
  }

  /** Writer schemas bound to the columns as they are now. */
  get writers(): BoundWriters {
    return this.#writers;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Of the rows as they were sent. */
  get byteCount(): number {
    return this.#byteCount;
  }

  change(state: TableState): void {
    const hasNewColumns = state.columns !== this.#state.columns;
    this.#state = state;
    if (!hasNewColumns) return;
    this.#version++;
    this.#writers = this.#newWriters();
  }

  /** @param batch whose rows were found right */
  append(batch: RowBatch): void {
    this.#batches.push(batch);
    this.#rowCount += batch.count;
    this.#byteCount += batch.protoRows.length;
  }

  /** Rows in the order in which they were appended, in cells of the columns as they are now. */
  *rows(from = 0, to = this.#rowCount): Generator<readonly Cell[]> {
    let first = 0;
    for (const batch of this.#batches) {
      const last = first + batch.count;
      if (last > from && first < to) yield* this.#decode(batch, Math.max(from - first, 0), Math.min(to, last) - first);
      first = last;
      if (first >= to) return;
    }
  }

  *#decode(batch: RowBatch, from: number, to: number): Generator<readonly Cell[]> {
    const { writer, context, protoRows, firstRow } = batch;
    const missing = missingBy(defaultTaker(writer.binding, batch.missing), context);
    const added = this.#state.columns.slice(writer.binding.columns.length).map(emptyCell);
    const places: [start: number, end: number][] = [];
    visitRows(protoRows, (start, end) => places.push([start, end]));
    for (let row = from; row < to; row++) {
      const [start, end] = places[row]!;
      yield [...writer.decoder.decode(protoRows.subarray(start, end), firstRow + row, missing), ...added];
    }
  }

  #newWriters(): BoundWriters {
    return new BoundWriters(this.#state.columns, textOfStream({ ...this.name, stream: "_default" }));
  }
}
