/** Keeps a catalog in a data file: writes its changes down, and makes them again at the next start. */
import { fieldJson } from "./column-json.ts";
import { parseColumns } from "./column-parser.ts";
import { type Catalog, type CatalogObserver, type Dataset } from "./catalog.ts";
import type { DefaultContext } from "./column.ts";
import { Journal, type JournalRecord } from "./journal.ts";
import type { MissingValues } from "./missing-values.ts";
import type { JsonObject, RowBatch, StoredTable, TableState } from "./stored-table.ts";
import { type TableName, textOfTable } from "./table-name.ts";
import { type StreamType, WriteStream } from "./write-stream.ts";

type Head =
  | { readonly change: "dataset created"; readonly dataset: Dataset }
  | { readonly change: "dataset deleted"; readonly dataset: Dataset }
  | { readonly change: "table"; readonly name: TableName; readonly state: SavedState }
  | { readonly change: "table deleted"; readonly name: TableName }
  /** The bytes are a DescriptorProto; rows refer to it by its place among all descriptors of the file. */
  | { readonly change: "descriptor" }
  /** The bytes are ProtoRows. */
  | RowsHead
  | StreamHead;

type StreamHead = { readonly name: TableName } & (
  | { readonly change: "stream created"; readonly id: string; readonly type: StreamType; readonly createdMs: number }
  | { readonly change: "stream finalized"; readonly id: string }
  | { readonly change: "stream flushed"; readonly id: string; readonly count: number; readonly atMs: number }
  | { readonly change: "streams committed"; readonly ids: readonly string[]; readonly atMs: number }
);

interface RowsHead {
  readonly change: "rows";
  readonly name: TableName;
  /** Id of the write stream; absent: the default one. */
  readonly stream?: string;
  readonly descriptor: number;
  /** Of the table's columns that they are for; absent: the latest. */
  readonly version?: number;
  readonly count: number;
  readonly missing: MissingValues;
  /** Microseconds as text: JSON has no room for bigint. */
  readonly atMicros: string;
  readonly seed: string;
}

interface SavedState {
  readonly fields: readonly unknown[];
  readonly settings: JsonObject;
  readonly createdMs: number;
  readonly modifiedMs: number;
}

/**
 * Makes all changes again that the file holds, then writes down those to come.
 *
 * @returns what closes the file
 * @throws SetupError when the file is something else, or cannot be had
 */
export function keepCatalog(catalog: Catalog, path: string): () => void {
  const descriptors = new Descriptors();
  const journal = Journal.open(path, (record) => replay(catalog, descriptors, record));
  catalog.observe(new JournalWriter(journal, descriptors));
  return () => journal.close();
}

/** Descriptors of the file, in the order in which they came. */
class Descriptors {
  #all: Buffer[] = [];
  readonly #numbers = new Map<string, number>();

  add(bytes: Buffer): number {
    this.#numbers.set(bytes.toString("latin1"), this.#all.length);
    return this.#all.push(bytes) - 1;
  }

  numberOf(bytes: Buffer): number | undefined {
    return this.#numbers.get(bytes.toString("latin1"));
  }

  at(number: number): Buffer {
    return this.#all[number]!;
  }

  clear(): void {
    this.#all = [];
    this.#numbers.clear();
  }
}

class JournalWriter implements CatalogObserver {
  readonly #journal: Journal;
  readonly #descriptors: Descriptors;

  constructor(journal: Journal, descriptors: Descriptors) {
    this.#journal = journal;
    this.#descriptors = descriptors;
  }

  cleared(): void {
    this.#journal.clear();
    this.#descriptors.clear();
  }

  datasetCreated(dataset: Dataset): void {
    this.#write({ change: "dataset created", dataset });
  }

  datasetDeleted(dataset: Dataset): void {
    this.#write({ change: "dataset deleted", dataset });
  }

  tableChanged({ name, state }: StoredTable): void {
    const { columns, ...rest } = state;
    this.#write({ change: "table", name, state: { ...rest, fields: columns.map(fieldJson) } });
  }

  tableDeleted({ name }: StoredTable): void {
    this.#write({ change: "table deleted", name });
  }

  rowsAppended({ name, versions }: StoredTable, batch: RowBatch, stream: WriteStream | undefined): void {
    const { writer, missing, context, protoRows, count } = batch;
    const descriptor = this.#descriptor(writer.binding.descriptor.bytes);
    const { atMicros, seed } = context;
    const { columns } = writer.binding;
    const head: RowsHead = {
      change: "rows",
      name,
      ...(stream && { stream: stream.id }),
      descriptor,
      ...(columns !== versions.latest.columns && { version: versions.withColumns(columns).number }),
      count,
      missing,
      atMicros: String(atMicros),
      seed,
    };
    this.#write(head, protoRows);
  }

  streamCreated({ name }: StoredTable, { id, type, createdMs }: WriteStream): void {
    this.#write({ change: "stream created", name, id, type, createdMs });
  }

  streamFinalized({ name }: StoredTable, { id }: WriteStream): void {
    this.#write({ change: "stream finalized", name, id });
  }

  streamFlushed({ name }: StoredTable, { id }: WriteStream, count: number, atMs: number): void {
    this.#write({ change: "stream flushed", name, id, count, atMs });
  }

  streamsCommitted({ name }: StoredTable, streams: readonly WriteStream[], atMs: number): void {
    this.#write({ change: "streams committed", name, ids: streams.map(({ id }) => id), atMs });
  }

  #descriptor(bytes: Buffer): number {
    const known = this.#descriptors.numberOf(bytes);
    if (known !== undefined) return known;
    this.#write({ change: "descriptor" }, bytes);
    return this.#descriptors.add(bytes);
  }

  #write(head: Head, bytes?: Buffer): void {
    this.#journal.append(head, bytes);
  }
}

function replay(catalog: Catalog, descriptors: Descriptors, { head: plain, bytes }: JournalRecord): void {
  const head = plain as Head;
  switch (head.change) {
    case "dataset created":
      catalog.createDataset(head.dataset);
      break;
    case "dataset deleted":
      catalog.deleteDataset(head.dataset.project, head.dataset.id, true);
      break;
    case "table":
      restoreTable(catalog, head.name, head.state);
      break;
    case "table deleted":
      catalog.deleteTable(head.name);
      break;
    case "descriptor":
      descriptors.add(bytes);
      break;
    case "rows":
      restoreRows(catalog, head, descriptors.at(head.descriptor), bytes);
      break;
    default:
      restoreStream(catalog, head);
  }
}

function restoreStream(catalog: Catalog, head: StreamHead): void {
  const table = catalog.table(head.name);
  const stream = (id: string): WriteStream => table.streams.get(id)!;
  switch (head.change) {
    case "stream created":
      catalog.createStream(table, new WriteStream(head.id, head.type, head.createdMs));
      break;
    case "stream finalized":
      catalog.finalizeStream(table, stream(head.id));
      break;
    case "stream flushed":
      catalog.flushStream(table, stream(head.id), head.count, head.atMs);
      break;
    case "streams committed":
      catalog.commitStreams(table, head.ids.map(stream), head.atMs);
      break;
  }
}

function restoreTable(catalog: Catalog, name: TableName, { fields, ...saved }: SavedState): void {
  const table = catalog.findTable(name);
  const state: TableState = { ...saved, columns: parseColumns(fields) };
  if (table) catalog.changeTable(table, state);
  else catalog.createTable(name, state);
}

/** Rows were checked before they were written down. */
function restoreRows(catalog: Catalog, head: RowsHead, descriptor: Buffer, protoRows: Buffer): void {
  const table = catalog.table(head.name);
  const context: DefaultContext = { atMicros: BigInt(head.atMicros), seed: head.seed };
  const { count, missing } = head;
  const stream = head.stream === undefined ? undefined : table.streams.get(head.stream);
  const version = head.version === undefined ? table.versions.latest : table.versions.numbered(head.version);
  const writer = version.writers.of(descriptor, textOfTable(head.name));
  catalog.append(table, { writer, missing, context, protoRows, count, firstRow: 0 }, stream);
}
