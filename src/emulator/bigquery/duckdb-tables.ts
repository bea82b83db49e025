/** An in-memory DuckDB with copies of tables: projects are databases, datasets schemas, tables tables. */
import { setImmediate } from "node:timers/promises";
import type * as DuckDB from "@duckdb/node-api";
import { invalid } from "./api-error.ts";
import { type DuckDBModule, duckdbType, duckdbValue } from "./duckdb-types.ts";
import { quoteName } from "./sql-text.ts";
import type { StoredTable } from "./stored-table.ts";
import { textOfTable } from "./table-name.ts";

/** How much of a table is in DuckDB. */
interface Copy {
  readonly table: StoredTable;
  readonly version: number;
  rows: number;
}

/** Rows that travel into DuckDB together; the size of its own vectors. */
const chunkRows = 2048;

export class DuckDBTables {
  readonly duckdb: DuckDBModule;
  readonly #instance: DuckDB.DuckDBInstance;
  readonly #connection: DuckDB.DuckDBConnection;
  /** By name without case, as DuckDB compares names. */
  readonly #copies = new Map<string, Copy>();

  private constructor(duckdb: DuckDBModule, instance: DuckDB.DuckDBInstance, connection: DuckDB.DuckDBConnection) {
    this.duckdb = duckdb;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(duckdb: DuckDBModule): Promise<DuckDBTables> {
    // A query must not reach the files of the machine.
    const instance = await duckdb.DuckDBInstance.create(":memory:", { enable_external_access: "false" });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    return new DuckDBTables(duckdb, instance, connection);
  }

  /** Names of tables in a query, as DuckDB spells them. @throws Error when it is no SQL */
  namesIn(sql: string): readonly string[] {
    return this.#connection.getTableNames(sql, true);
  }

  /** Brings the copy of a table up to date. */
  async load(table: StoredTable): Promise<void> {
    const key = textOfTable(table.name).toLowerCase();
    let copy = this.#copies.get(key);
    if (copy?.table !== table || copy.version !== table.version) {
      await this.#create(table);
      copy = { table, version: table.version, rows: 0 };
      this.#copies.set(key, copy);
    }
    if (copy.rows < table.rowCount) await this.#append(copy);
  }

  /** Drops the copies of tables that are no more. */
  async keepOnly(isThere: (table: StoredTable) => boolean): Promise<void> {
    for (const [key, { table }] of this.#copies) {
      if (isThere(table)) continue;
      await this.#connection.run(`DROP TABLE ${pathOf(table)}`);
      this.#copies.delete(key);
    }
  }

  /** Where names without project or dataset are looked up from now on. */
  async use({ project, dataset }: { readonly project: string; readonly dataset: string }): Promise<void> {
    await this.#createSchema(project, dataset);
    await this.#connection.run(`USE ${quoteName(project)}.${quoteName(dataset)}`);
  }

  /** @throws ApiError 400 unless it is one query; Error with DuckDB's words */
  async read(
    sql: string,
    values: (string | null)[] | Record<string, string | null> | undefined,
  ): Promise<DuckDB.DuckDBResultReader> {
    const statements = await this.#connection.extractStatements(sql);
    if (statements.count !== 1) throw invalid("The embedded BigQuery takes one statement at a time", "invalidQuery");
    const statement = await statements.prepare(0);
    if (statement.statementType !== this.duckdb.StatementType.SELECT) {
      throw invalid("The embedded BigQuery takes queries only; tables are changed through REST", "invalidQuery");
    }
    if (values) statement.bind(values);
    return statement.runAndReadAll();
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  async #create(table: StoredTable): Promise<void> {
    const { name, state } = table;
    const columns = state.columns.map((column) => `${quoteName(column.name)} ${duckdbType(column)}`);
    if (columns.length === 0) throw invalid(`Table ${textOfTable(name)} does not have a schema`, "invalidQuery");
    await this.#createSchema(name.project, name.dataset);
    await this.#connection.run(`CREATE OR REPLACE TABLE ${pathOf(table)} (${columns.join(", ")})`);
  }

  async #createSchema(project: string, dataset: string): Promise<void> {
    await this.#connection.run(`ATTACH IF NOT EXISTS ':memory:' AS ${quoteName(project)}`);
    await this.#connection.run(`CREATE SCHEMA IF NOT EXISTS ${quoteName(project)}.${quoteName(dataset)}`);
  }

  async #append(copy: Copy): Promise<void> {
    const { name, state } = copy.table;
    const appender = await this.#connection.createAppender(name.table, name.dataset, name.project);
    const types = state.columns.map((_, index) => appender.columnType(index));
    let chunk: DuckDB.DuckDBValue[][] = [];
    const flush = (): void => {
      const data = this.duckdb.DuckDBDataChunk.create(types);
      data.setRows(chunk);
      appender.appendDataChunk(data);
      chunk = [];
    };
    const to = copy.table.rowCount;
    for (const cells of copy.table.rows(copy.rows, to)) {
      chunk.push(state.columns.map((column, position) => duckdbValue(this.duckdb, column, cells[position])));
      if (chunk.length < chunkRows) continue;
      flush();
      // Appends and calls of others get their turn while a large table is loaded.
      await setImmediate();
    }
    if (chunk.length > 0) flush();
    appender.closeSync();
    copy.rows = to;
  }
}

function pathOf({ name }: StoredTable): string {
  return [name.project, name.dataset, name.table].map(quoteName).join(".");
}
