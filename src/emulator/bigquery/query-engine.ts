/** Queries: tables are loaded into DuckDB when a query names them, and the query runs there. */
import { ApiError, invalid, notFound } from "./api-error.ts";
import type { Catalog } from "./catalog.ts";
import { DuckDBTables } from "./duckdb-tables.ts";
import type { DuckDBModule } from "./duckdb-types.ts";
import { type QueryParameter, bindings, withParameters } from "./query-parameters.ts";
import { type QueryResult, queryResult } from "./query-result.ts";
import { splitName, translateSql } from "./sql-text.ts";
import type { StoredTable } from "./stored-table.ts";
import { textOfTable } from "./table-name.ts";

export interface Query {
  readonly sql: string;
  /** Where names without a project are looked up. */
  readonly project?: string | undefined;
  readonly defaultDataset?: { readonly project: string; readonly dataset: string } | undefined;
  readonly parameters: readonly QueryParameter[];
}

export class QueryEngine {
  readonly #catalog: Catalog;
  #tables: DuckDBTables | undefined;
  /** Queries run one after another: each may load tables. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** Sees every row that was appended before the call. @throws ApiError */
  run(query: Query): Promise<QueryResult> {
    const result = this.#last.then(() => this.#run(query));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    await this.#last;
    this.#tables?.close();
  }

  async #run(query: Query): Promise<QueryResult> {
    const tables = (this.#tables ??= await DuckDBTables.open(await loadDuckDB()));
    const { sql, withNulls } = withParameters(translateSql(query.sql), query.parameters);
    try {
      await tables.keepOnly((table) => this.#catalog.findTable(table.name) === table);
      for (const table of this.#tablesOf(tables.namesIn(withNulls), query)) await tables.load(table);
      await tables.use(query.defaultDataset ?? { project: query.project ?? "memory", dataset: "main" });
      const reader = await tables.read(sql, bindings(query.parameters));
      return queryResult(tables.duckdb, reader);
    } catch (error) {
      throw error instanceof ApiError ? error : invalid((error as Error).message, "invalidQuery");
    }
  }

  /** Tables of the catalog that a query names. A bare name may also be one that the query itself defines. */
  #tablesOf(names: readonly string[], query: Query): readonly StoredTable[] {
    const tables = names.flatMap((name) => {
      const parts = splitName(name);
      const [table = "", dataset = query.defaultDataset?.dataset, project = this.#projectOf(query)] =
        parts.toReversed();
      if (dataset === undefined) return [];
      const found = this.#catalog.findTable({ project, dataset, table });
      if (found) return [found];
      if (parts.length === 1) return [];
      throw notFound(`Table ${textOfTable({ project, dataset, table })} was not found in location US`);
    });
    refuseNearNames(tables);
    return tables;
  }

  #projectOf({ defaultDataset, project }: Query): string {
    return defaultDataset?.project ?? project ?? "";
  }
}

/** DuckDB compares names without case, BigQuery's tables with it. @throws ApiError 400 */
function refuseNearNames(tables: readonly StoredTable[]): void {
  const byName = new Map<string, StoredTable>();
  for (const table of tables) {
    const name = textOfTable(table.name).toLowerCase();
    const other = byName.get(name) ?? table;
    if (other !== table) {
      const words = `Tables ${textOfTable(other.name)} and ${textOfTable(table.name)} differ by case alone`;
      throw invalid(`${words}: the embedded BigQuery cannot have both in one query`, "invalidQuery");
    }
    byName.set(name, table);
  }
}

/** @throws ApiError 501 when the package is not installed */
async function loadDuckDB(): Promise<DuckDBModule> {
  try {
    return await import("@duckdb/node-api");
  } catch {
    throw new ApiError(
      501,
      "notImplemented",
      "The embedded BigQuery needs DuckDB to answer queries: npm install @duckdb/node-api",
    );
  }
}
