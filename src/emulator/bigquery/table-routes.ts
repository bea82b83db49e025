/** REST: tables and the rows in them. */
import type { Clock } from "../../lib/clock.ts";
import { ApiError, invalid } from "./api-error.ts";
import type { Catalog } from "./catalog.ts";
import { pageOf } from "./paging.ts";
import type { RestRequest, Route } from "./rest-server.ts";
import { restRow, selectColumns, timestampFormat } from "./rest-rows.ts";
import type { JsonObject, StoredTable, TableState } from "./stored-table.ts";
import type { TableName } from "./table-name.ts";
import { etagOf, newTable, patchedTable, replacedTable, tableResource, tableSummary } from "./table-resource.ts";

const maxTables = 1000;
const maxRows = 100_000;

/** How a table's state comes about from the one before and a body: patch or update. */
type Change = (name: TableName, before: TableState, body: JsonObject, nowMs: number) => TableState;

export function tableRoutes(catalog: Catalog, clock: Clock): readonly Route[] {
  const all = "/projects/:project/datasets/:dataset/tables";
  const one = `${all}/:table`;
  const change = (request: RestRequest, change: Change): object => changeTable(catalog, clock, request, change);
  return [
    { name: "tables.list", method: "GET", path: all, handle: (request) => list(catalog, request) },
    { name: "tables.insert", method: "POST", path: all, handle: (request) => insert(catalog, clock, request) },
    { name: "tables.get", method: "GET", path: one, handle: ({ path }) => tableResource(catalog.table(nameOf(path))) },
    { name: "tables.patch", method: "PATCH", path: one, handle: (request) => change(request, patchedTable) },
    { name: "tables.update", method: "PUT", path: one, handle: (request) => change(request, replacedTable) },
    {
      name: "tables.delete",
      method: "DELETE",
      path: one,
      handle: ({ path }) => catalog.deleteTable(nameOf(path)) ?? undefined,
    },
    { name: "tabledata.list", method: "GET", path: `${one}/data`, handle: (request) => listRows(catalog, request) },
  ];
}

function nameOf(path: RestRequest["path"]): TableName {
  return { project: path["project"]!, dataset: path["dataset"]!, table: path["table"]! };
}

function insert(catalog: Catalog, clock: Clock, { path, body }: RestRequest): object {
  const { tableId } = (body["tableReference"] ?? {}) as { tableId?: unknown };
  if (typeof tableId !== "string") throw invalid("Required parameter is missing: tableReference.tableId");
  const name = nameOf({ ...path, table: tableId });
  return tableResource(catalog.createTable(name, newTable(body, Math.floor(clock.now()))));
}

/** @throws ApiError 412 when the client means another state of the table than the one that is */
function changeTable(catalog: Catalog, clock: Clock, { path, body, headers }: RestRequest, change: Change): object {
  const table = catalog.table(nameOf(path));
  const expected = headers["if-match"];
  if (expected !== undefined && expected !== "*" && expected.replaceAll('"', "") !== etagOf(table)) {
    throw new ApiError(412, "conditionNotMet", "Precondition Failed: the table was changed meanwhile");
  }
  catalog.changeTable(table, change(table.name, table.state, body, Math.floor(clock.now())));
  return tableResource(table);
}

function list(catalog: Catalog, { path, query }: RestRequest): object {
  const tables = catalog.tables(path["project"]!, path["dataset"]!);
  const { from, to, nextToken } = pageOf(query, tables.length, maxTables);
  return {
    kind: "bigquery#tableList",
    tables: tables.slice(from, to).map(tableSummary),
    totalItems: tables.length,
    ...(nextToken === undefined ? {} : { nextPageToken: nextToken }),
  };
}

function listRows(catalog: Catalog, { path, query }: RestRequest): object {
  const table = catalog.table(nameOf(path));
  const { from, to, nextToken } = pageOf(query, table.rowCount, maxRows);
  const format = timestampFormat(
    query.get("formatOptions.useInt64Timestamp"),
    query.get("formatOptions.timestampOutputFormat") ?? undefined,
  );
  const rows = rowsOf(table, from, to, query.get("selectedFields"), format);
  return {
    kind: "bigquery#tableDataList",
    totalRows: String(table.rowCount),
    rows,
    ...(nextToken === undefined ? {} : { pageToken: nextToken }),
  };
}

function rowsOf(
  table: StoredTable,
  from: number,
  to: number,
  selectedFields: string | null,
  format: ReturnType<typeof timestampFormat>,
): readonly object[] {
  const { columns, project } = selectColumns(table.state.columns, selectedFields);
  return Array.from(table.rows(from, to), (cells) => restRow(columns, project(cells), format));
}
