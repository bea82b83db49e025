/** Datasets and tables, and the one place where they change. */
import { duplicate, invalid, notFound } from "./api-error.ts";
import { type JsonObject, type RowBatch, StoredTable, type TableState } from "./stored-table.ts";
import { type TableName, textOfTable } from "./table-name.ts";
import type { WriteStream } from "./write-stream.ts";

export interface Dataset {
  readonly project: string;
  readonly id: string;
  /** What the client set: labels, description, access. */
  readonly settings: JsonObject;
  readonly createdMs: number;
}

/** Told of every change, so that it can be kept beyond the life of the process. */
export interface CatalogObserver {
  cleared(): void;
  datasetCreated(dataset: Dataset): void;
  datasetDeleted(dataset: Dataset): void;
  tableChanged(table: StoredTable): void;
  tableDeleted(table: StoredTable): void;
  /** @param stream undefined: the default one */
  rowsAppended(table: StoredTable, batch: RowBatch, stream: WriteStream | undefined): void;
  streamCreated(table: StoredTable, stream: WriteStream): void;
  streamFinalized(table: StoredTable, stream: WriteStream): void;
  streamFlushed(table: StoredTable, stream: WriteStream, count: number, nowMs: number): void;
  streamsCommitted(table: StoredTable, streams: readonly WriteStream[], nowMs: number): void;
}

interface Entry {
  readonly dataset: Dataset;
  readonly tables: Map<string, StoredTable>;
}

const idForm = /^\w{1,1024}$/;
const tableIdForm = /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd} ]{1,1024}$/u;

export class Catalog {
  readonly #entries = new Map<string, Entry>();
  /** Names of tables that were deleted. */
  readonly #deleted = new Set<string>();
  #observer: CatalogObserver | undefined;

  /** From now on changes are told to `observer`. */
  observe(observer: CatalogObserver): void {
    this.#observer = observer;
  }

  /** Datasets of a project, in the order of their creation. */
  datasets(project: string): readonly Dataset[] {
    return [...this.#entries.values()].map(({ dataset }) => dataset).filter((dataset) => dataset.project === project);
  }

  findDataset(project: string, id: string): Dataset | undefined {
    return this.#entries.get(keyOf(project, id))?.dataset;
  }

  /** @throws ApiError 404 */
  dataset(project: string, id: string): Dataset {
    return this.#entry(project, id).dataset;
  }

  /** @throws ApiError 400, 409 */
  createDataset(dataset: Dataset): Dataset {
    const { project, id } = dataset;
    if (!idForm.test(id)) throw invalid(`Invalid dataset ID "${id}". It takes letters, digits and underscores`);
    if (this.#entries.has(keyOf(project, id))) throw duplicate(`Dataset ${project}:${id}`);
    this.#entries.set(keyOf(project, id), { dataset, tables: new Map() });
    this.#observer?.datasetCreated(dataset);
    return dataset;
  }

  /** @throws ApiError 400 when it still has tables and they are not to go with it, 404 */
  deleteDataset(project: string, id: string, withTables: boolean): void {
    const { dataset, tables } = this.#entry(project, id);
    if (tables.size > 0 && !withTables) {
      throw invalid(`Dataset ${project}:${id} is still in use`, "resourceInUse");
    }
    this.#entries.delete(keyOf(project, id));
    for (const { name } of tables.values()) this.#deleted.add(textOfTable(name));
    this.#observer?.datasetDeleted(dataset);
  }

  /** Tables of a dataset, by name. @throws ApiError 404 */
  tables(project: string, dataset: string): readonly StoredTable[] {
    const tables = [...this.#entry(project, dataset).tables.values()];
    return tables.sort((a, b) => (a.name.table < b.name.table ? -1 : 1));
  }

  findTable({ project, dataset, table }: TableName): StoredTable | undefined {
    return this.#entries.get(keyOf(project, dataset))?.tables.get(table);
  }

  /** @throws ApiError 404 */
  table(name: TableName): StoredTable {
    const table = this.findTable(name);
    if (!table) throw notFound(`Table ${textOfTable(name)}`);
    return table;
  }

  /** @throws ApiError 400, 404 (of the dataset), 409 */
  createTable(name: TableName, state: TableState): StoredTable {
    if (!tableIdForm.test(name.table)) throw invalid(`Invalid table ID "${name.table}"`);
    const { tables } = this.#entry(name.project, name.dataset);
    if (tables.has(name.table)) throw duplicate(`Table ${textOfTable(name)}`);
    const table = new StoredTable(name, state, this.#deleted.has(textOfTable(name)));
    tables.set(name.table, table);
    this.#observer?.tableChanged(table);
    return table;
  }

  changeTable(table: StoredTable, state: TableState): void {
    table.change(state);
    this.#observer?.tableChanged(table);
  }

  /** @throws ApiError 404 */
  deleteTable(name: TableName): void {
    const table = this.table(name);
    this.#entry(name.project, name.dataset).tables.delete(name.table);
    this.#deleted.add(textOfTable(name));
    this.#observer?.tableDeleted(table);
  }

  /** @param stream undefined: the default one */
  append(table: StoredTable, batch: RowBatch, stream?: WriteStream): void {
    if (stream) addAll(table, stream.append(batch, Number(batch.context.atMicros / 1000n)));
    else table.append(batch);
    this.#observer?.rowsAppended(table, batch, stream);
  }

  createStream(table: StoredTable, stream: WriteStream): void {
    for (const before of table.streams.values()) if (before.isExpired(stream.createdMs)) before.drop();
    table.streams.set(stream.id, stream);
    this.#observer?.streamCreated(table, stream);
  }

  finalizeStream(table: StoredTable, stream: WriteStream): void {
    stream.finalize();
    this.#observer?.streamFinalized(table, stream);
  }

  /** @param count of the stream's rows that are to be in the table */
  flushStream(table: StoredTable, stream: WriteStream, count: number, nowMs: number): void {
    addAll(table, stream.flush(count, nowMs));
    this.#observer?.streamFlushed(table, stream, count, nowMs);
  }

  /** All at once. */
  commitStreams(table: StoredTable, streams: readonly WriteStream[], nowMs: number): void {
    for (const stream of streams) addAll(table, stream.commit(nowMs));
    this.#observer?.streamsCommitted(table, streams, nowMs);
  }

  /** Forgets everything, also that there ever was a table. */
  clear(): void {
    this.#entries.clear();
    this.#deleted.clear();
    this.#observer?.cleared();
  }

  #entry(project: string, id: string): Entry {
    const entry = this.#entries.get(keyOf(project, id));
    if (!entry) throw notFound(`Dataset ${project}:${id}`);
    return entry;
  }
}

function addAll(table: StoredTable, batches: readonly RowBatch[]): void {
  for (const batch of batches) table.append(batch);
}

/** No name of a project or dataset has a slash. */
function keyOf(project: string, dataset: string): string {
  return `${project}/${dataset}`;
}
