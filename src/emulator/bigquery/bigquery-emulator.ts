/** The embedded BigQuery: REST and the Storage Write API on loopback, over tables in memory or in a file. */
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Fault, Faults } from "../faults.ts";
import type { Propagation } from "./append-destination.ts";
import { type TypedField, withColumnType, withoutColumn } from "./alter-table.ts";
import { keepCatalog } from "./catalog-journal.ts";
import { Catalog } from "./catalog.ts";
import { datasetRoutes } from "./dataset-routes.ts";
import { plainRow, type PlainRow } from "./plain-rows.ts";
import { queryRoutes } from "./query-routes.ts";
import { RateLimit } from "./rate-limit.ts";
import { RestServer, type Route } from "./rest-server.ts";
import { StorageServer, type StorageSettings } from "./storage-server.ts";
import { QueryEngine } from "./query-engine.ts";
import type { StoredTable } from "./stored-table.ts";
import { parseTableName, type TableName } from "./table-name.ts";
import { newTable, patchedTable } from "./table-resource.ts";
import { tableRoutes } from "./table-routes.ts";
import { writeMethods } from "./write-service.ts";

export interface BigQueryEmulatorOptions extends Propagation {
  /** 0, the default, for any free port. */
  readonly restPort?: number;
  readonly storagePort?: number;
  /** File that keeps datasets, tables and rows for the next start; without it they are gone with the process. */
  readonly data?: string;
  readonly clock?: Clock;
  readonly faults?: readonly Fault[];
  /** Largest AppendRowsRequest; 10 MiB unless given, as the service's older limit (the newer one is 20 MB). */
  readonly maxRequestBytes?: number;
  /** AppendRows calls at a time; no limit unless given. */
  readonly maxConnections?: number;
  /** Bytes of requests a second, on all connections together; no limit unless given. */
  readonly maxAppendBytesPerSecond?: number;
  /** 10,000 unless given, as the service has it. */
  readonly maxStreamsPerHour?: number;
}

/** A table as `PROJECT.DATASET.TABLE`, or in its parts. */
export type TableRef = string | TableName;

const defaultMaxRequestBytes = 10 * 2 ** 20;
const defaultMaxStreamsPerHour = 10_000;

/**
 * Starts both servers on 127.0.0.1.
 *
 * @throws SetupError when `data` names a file that is none of ours or cannot be had; Error when a port is taken
 */
export async function startBigQueryEmulator(options: BigQueryEmulatorOptions = {}): Promise<BigQueryEmulator> {
  const emulator = new BigQueryEmulator(options);
  await emulator.listen(options.restPort ?? 0, options.storagePort ?? 0);
  return emulator;
}

export class BigQueryEmulator {
  /** Scripted faults, and counts of calls: `AppendRows` counts requests, REST calls go by names such as `tables.get`. */
  readonly faults: Faults;
  readonly #clock: Clock;
  readonly #catalog = new Catalog();
  readonly #engine: QueryEngine;
  readonly #rest: RestServer;
  readonly #storage: StorageServer;
  readonly #closeData: () => void;

  constructor(options: BigQueryEmulatorOptions) {
    const { clock = systemClock, data } = options;
    this.#clock = clock;
    this.#closeData = data === undefined ? () => {} : keepCatalog(this.#catalog, data);
    this.#engine = new QueryEngine(this.#catalog);
    const routes = [
      ...datasetRoutes(this.#catalog, clock),
      ...tableRoutes(this.#catalog, clock),
      ...queryRoutes(this.#engine, clock),
      resetRoute(this.#catalog),
    ];
    this.faults = new Faults(options.faults, [...writeMethods, ...routes.map(({ name }) => name)], clock);
    this.#rest = new RestServer(routes, this.faults, clock);
    this.#storage = new StorageServer(this.faults, clock, this.#catalog, storageSettings(options, clock));
  }

  async listen(restPort: number, storagePort: number): Promise<void> {
    await Promise.all([this.#rest.listen(restPort), this.#storage.start(storagePort)]);
  }

  get host(): string {
    return this.#storage.host;
  }

  /** Port of REST: BIGQUERY_EMULATOR_HOST. */
  get restPort(): number {
    return this.#rest.port;
  }

  /** Port of the Storage Write API: BIGQUERY_STORAGE_EMULATOR_HOST. */
  get storagePort(): number {
    return this.#storage.port;
  }

  /** Requests on all AppendRows streams since the fault script was set. */
  get appendRequests(): number {
    return this.faults.calls("AppendRows");
  }

  /**
   * Makes a table, and its dataset where there is none.
   *
   * @param schema an array of fields, or a table resource with `schema.fields`
   * @throws ApiError as tables.insert would answer
   */
  createTable(table: TableRef, schema: readonly object[] | object): void {
    const name = nameOf(table);
    const { project, dataset } = name;
    if (!this.#catalog.findDataset(project, dataset)) {
      this.#catalog.createDataset({ project, id: dataset, settings: {}, createdMs: this.#nowMs });
    }
    this.#catalog.createTable(name, newTable(resourceOf(schema), this.#nowMs));
  }

  /** Like tables.patch. @throws ApiError as tables.patch would answer */
  patchTable(table: TableRef, schema: readonly object[] | object): void {
    const stored = this.#table(table);
    const state = patchedTable(stored.name, stored.state, resourceOf(schema), this.#nowMs);
    this.#catalog.changeTable(stored, state);
  }

  /** `ALTER TABLE … DROP COLUMN`, with the column's values. @throws ApiError 400, 404 */
  dropColumn(table: TableRef, column: string): void {
    const stored = this.#table(table);
    this.#catalog.changeTable(stored, withoutColumn(stored.state, column, this.#nowMs));
  }

  /**
   * `ALTER TABLE … ALTER COLUMN … SET DATA TYPE`: to a wider type, or a larger parameter.
   *
   * @param field name and new type; what it does not say stays
   * @throws ApiError 400, 404
   */
  setColumnType(table: TableRef, field: TypedField): void {
    const stored = this.#table(table);
    this.#catalog.changeTable(stored, withColumnType(stored.state, field, this.#nowMs));
  }

  /** @throws ApiError 404 */
  deleteTable(table: TableRef): void {
    this.#catalog.deleteTable(nameOf(table));
  }

  /** @throws ApiError 404 */
  rowCount(table: TableRef): number {
    return this.#table(table).rowCount;
  }

  /** All rows as `millrace map` prints them, in the order in which they were appended. @throws ApiError 404 */
  rows(table: TableRef): readonly PlainRow[] {
    const stored = this.#table(table);
    return Array.from(stored.rows(), (cells) => plainRow(stored.state.columns, cells));
  }

  /**
   * Rows of a query, in the same form.
   *
   * @param sql DuckDB's SQL, with names of tables as BigQuery writes them
   * @throws ApiError 400 when DuckDB refuses it, 404 when a table is not there, 501 without DuckDB
   */
  async query(sql: string): Promise<readonly PlainRow[]> {
    const { columns, rows } = await this.#engine.run({ sql, parameters: [] });
    return rows.map((cells) => plainRow(columns, cells));
  }

  /**
   * Stops the Storage Write API; REST, tables and streams stay.
   *
   * @param graceMs 0: all connections are cut. Else AppendRows streams end with ABORTED behind the answers that are
   *   due, clients are asked to leave (GOAWAY), and only what is open after this time is cut
   */
  async stopStorage(graceMs = 0): Promise<void> {
    await this.#storage.stop(graceMs);
  }

  /** Starts it again on the same port. */
  async startStorage(): Promise<void> {
    await this.#storage.start();
  }

  /** Both, one after the other. */
  async restartStorage(graceMs = 0): Promise<void> {
    await this.stopStorage(graceMs);
    await this.startStorage();
  }

  /** Forgets all datasets, tables, rows and streams, as `POST /reset` does; faults and their counts stay. */
  reset(): void {
    this.#catalog.clear();
  }

  async close(): Promise<void> {
    await Promise.all([this.#rest.close(), this.#storage.stop()]);
    await this.#engine.close();
    this.#closeData();
  }

  get #nowMs(): number {
    return Math.floor(this.#clock.now());
  }

  #table(table: TableRef): StoredTable {
    return this.#catalog.table(nameOf(table));
  }
}

function storageSettings(options: BigQueryEmulatorOptions, clock: Clock): StorageSettings {
  const { maxStreamsPerHour = defaultMaxStreamsPerHour, maxAppendBytesPerSecond = Infinity } = options;
  return {
    maxRequestBytes: options.maxRequestBytes ?? defaultMaxRequestBytes,
    maxConnections: options.maxConnections ?? Infinity,
    throughput: new RateLimit(clock, maxAppendBytesPerSecond, 1000),
    creations: new RateLimit(clock, maxStreamsPerHour, 3_600_000),
    schemaDelayMs: options.schemaDelayMs ?? 0,
    recreationDelayMs: options.recreationDelayMs ?? 0,
  };
}

function resetRoute(catalog: Catalog): Route {
  return { name: "reset", method: "POST", path: "/reset", handle: () => catalog.clear() ?? {} };
}

function nameOf(table: TableRef): TableName {
  return typeof table === "string" ? parseTableName(table) : table;
}

function resourceOf(schema: readonly object[] | object): Readonly<Record<string, unknown>> {
  return Array.isArray(schema) ? { schema: { fields: schema } } : (schema as Readonly<Record<string, unknown>>);
}
