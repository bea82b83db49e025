/** The embedded BigQuery: REST and the Storage Write API on loopback, over tables in memory or in a file. */
import { type Clock, systemClock } from "../../lib/clock.ts";
import { type Fault, Faults } from "../faults.ts";
import { GrpcServer } from "../grpc-server.ts";
import { keepCatalog } from "./catalog-journal.ts";
import { Catalog } from "./catalog.ts";
import { datasetRoutes } from "./dataset-routes.ts";
import { plainRow, type PlainRow } from "./plain-rows.ts";
import { queryRoutes } from "./query-routes.ts";
import { RestServer } from "./rest-server.ts";
import { QueryEngine } from "./query-engine.ts";
import type { StoredTable } from "./stored-table.ts";
import { parseTableName, type TableName } from "./table-name.ts";
import { newTable, patchedTable } from "./table-resource.ts";
import { tableRoutes } from "./table-routes.ts";
import { addWriteService, writeMethods } from "./write-service.ts";

export interface BigQueryEmulatorOptions {
  /** 0, the default, for any free port. */
  readonly restPort?: number;
  readonly storagePort?: number;
  /** File that keeps datasets, tables and rows for the next start; without it they are gone with the process. */
  readonly data?: string;
  readonly clock?: Clock;
  readonly faults?: readonly Fault[];
  /** Largest AppendRowsRequest; 10 MiB unless given, as the service's older limit. */
  readonly maxRequestBytes?: number;
}

/** A table as `PROJECT.DATASET.TABLE`, or in its parts. */
export type TableRef = string | TableName;

const defaultMaxRequestBytes = 10 * 2 ** 20;

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
  readonly #storage = new GrpcServer();
  readonly #closeData: () => void;

  constructor(options: BigQueryEmulatorOptions) {
    const { clock = systemClock, data, maxRequestBytes = defaultMaxRequestBytes } = options;
    this.#clock = clock;
    this.#closeData = data === undefined ? () => {} : keepCatalog(this.#catalog, data);
    this.#engine = new QueryEngine(this.#catalog);
    const routes = [
      ...datasetRoutes(this.#catalog, clock),
      ...tableRoutes(this.#catalog, clock),
      ...queryRoutes(this.#engine, clock),
    ];
    this.faults = new Faults(options.faults, [...writeMethods, ...routes.map(({ name }) => name)], clock);
    this.#rest = new RestServer(routes, this.faults, clock);
    addWriteService({ server: this.#storage, faults: this.faults, clock }, this.#catalog, { maxRequestBytes });
  }

  async listen(restPort: number, storagePort: number): Promise<void> {
    await Promise.all([this.#rest.listen(restPort), this.#storage.listen(storagePort)]);
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

  async close(): Promise<void> {
    await Promise.all([this.#rest.close(), this.#storage.close()]);
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

function nameOf(table: TableRef): TableName {
  return typeof table === "string" ? parseTableName(table) : table;
}

function resourceOf(schema: readonly object[] | object): Readonly<Record<string, unknown>> {
  return Array.isArray(schema) ? { schema: { fields: schema } } : (schema as Readonly<Record<string, unknown>>);
}
