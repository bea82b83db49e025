/** A table: its resource, its columns, and its rows as the bytes in which they came. */
import type { BoundWriter } from "./bound-writer.ts";
import type { Cell } from "./cell.ts";
import { conversion } from "./column-conversion.ts";
import { fieldJson } from "./column-json.ts";
import type { Column, DefaultContext } from "./column.ts";
import { defaultTaker, type MissingValues } from "./missing-values.ts";
import { visitRows } from "./proto-rows.ts";
import { missingBy } from "./row-decoder.ts";
import type { TableName } from "./table-name.ts";
import { TableVersions } from "./table-version.ts";
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
  /** There was a table of this name before, which was deleted. */
  readonly isSuccessor: boolean;
  readonly versions: TableVersions;
  /** Write streams that applications created, by id. */
  readonly streams = new Map<string, WriteStream>();
  #state: TableState;
  #rowCount = 0;
  #byteCount = 0;
  readonly #batches: RowBatch[] = [];

  constructor(name: TableName, state: TableState, isSuccessor = false) {
    this.name = name;
    this.isSuccessor = isSuccessor;
    this.#state = state;
    this.versions = new TableVersions(state.columns, state.createdMs);
  }

  get state(): TableState {
    return this.#state;
  }

  /** Counts up when the columns change. */
  get version(): number {
    return this.versions.latest.number;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Of the rows as they were sent. */
  get byteCount(): number {
    return this.#byteCount;
  }

  change(state: TableState): void {
    const { columns } = this.#state;
    const isSame = state.columns === columns || jsonOf(state.columns) === jsonOf(columns);
    this.#state = isSame ? { ...state, columns } : state;
    if (!isSame) this.versions.add(state.columns, state.modifiedMs);
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
    const convert = conversion(this.versions.withColumns(writer.binding.columns), this.versions.latest);
    const places: [start: number, end: number][] = [];
    visitRows(protoRows, (start, end) => places.push([start, end]));
    for (let row = from; row < to; row++) {
      const [start, end] = places[row]!;
      yield convert(writer.decoder.decode(protoRows.subarray(start, end), firstRow + row, missing));
    }
  }
}

function jsonOf(columns: readonly Column[]): string {
  return JSON.stringify(columns.map(fieldJson));
}
