/** Table resources of the REST interface: what a client may set, how it may change, and how it is given back. */
import { createHash } from "node:crypto";
import { invalid } from "./api-error.ts";
import { fieldJson } from "./column-json.ts";
import { parseColumns } from "./column-parser.ts";
import { type Column, sameName } from "./column.ts";
import { inheritRounding, type RoundingMode, roundingModes } from "./rounding-mode.ts";
import { changedColumns } from "./schema-change.ts";
import type { JsonObject, StoredTable, TableState } from "./stored-table.ts";
import { type TableName, textOfTable } from "./table-name.ts";

/** Given back with every resource, but not for a client to set. */
const outputOnly = new Set([
  "kind",
  "etag",
  "id",
  "selfLink",
  "tableReference",
  "schema",
  "type",
  "location",
  "numRows",
  "numBytes",
  "numLongTermBytes",
  "creationTime",
  "lastModifiedTime",
]);

const otherKinds = ["view", "materializedView", "externalDataConfiguration", "snapshotDefinition", "cloneDefinition"];

/** @throws ApiError 400 */
export function newTable(body: JsonObject, nowMs: number): TableState {
  const settings = settingsOf(body);
  const roundingMode = defaultRounding(settings);
  const wanted = body["schema"] == null ? [] : columnsOf(body["schema"]);
  const columns = wanted.map((column) => inheritRounding(column, roundingMode));
  return checked({ columns, settings, createdMs: nowMs, modifiedMs: nowMs });
}

/** tables.patch: what the body names is replaced, null takes a setting away. @throws ApiError 400 */
export function patchedTable(name: TableName, before: TableState, body: JsonObject, nowMs: number): TableState {
  const merged = { ...before.settings, ...settingsOf(body) };
  const settings = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null));
  return withSchema(name, { ...before, settings, modifiedMs: nowMs }, body);
}

/** tables.update: the body replaces all settings; a body without schema leaves the columns. @throws ApiError 400 */
export function replacedTable(name: TableName, before: TableState, body: JsonObject, nowMs: number): TableState {
  return withSchema(name, { ...before, settings: settingsOf(body), modifiedMs: nowMs }, body);
}

function withSchema(name: TableName, state: TableState, body: JsonObject): TableState {
  if (body["schema"] == null) return checked(state);
  const wanted = columnsOf(body["schema"]);
  const roundingMode = defaultRounding(state.settings);
  return checked({ ...state, columns: changedColumns(textOfTable(name), state.columns, wanted, roundingMode) });
}

function settingsOf(body: JsonObject): JsonObject {
  const other = otherKinds.find((key) => body[key] !== undefined);
  if (other) throw invalid(`The embedded BigQuery holds tables only, none with ${other}`);
  return Object.fromEntries(Object.entries(body).filter(([key]) => !outputOnly.has(key)));
}

function columnsOf(schema: unknown): readonly Column[] {
  const { fields } = schema as { fields?: unknown };
  return parseColumns(fields ?? []);
}

/** What new decimal columns inherit; a change of it leaves those that are there. */
function defaultRounding({ defaultRoundingMode: mode }: JsonObject): RoundingMode | undefined {
  if (mode === undefined || mode === "ROUNDING_MODE_UNSPECIFIED") return undefined;
  const known = roundingModes.find((name) => name === mode);
  if (!known) throw invalid("Invalid value for defaultRoundingMode");
  return known;
}

const maxKeyColumns = 16;

/** The primary key, if there is one, names columns that can be a key. */
export function checked(state: TableState): TableState {
  const key = (state.settings["tableConstraints"] as { primaryKey?: { columns?: unknown } } | undefined)?.primaryKey;
  if (!key) return state;
  if (!Array.isArray(key.columns) || key.columns.length === 0) throw invalid("Primary key names no columns");
  if (key.columns.length > maxKeyColumns) throw invalid(`Primary key has more than ${maxKeyColumns} columns`);
  for (const name of key.columns) {
    const column = state.columns.find((column) => sameName(column.name, String(name)));
    if (!column) throw invalid(`Primary key names a column that the table lacks: ${name}`);
    if (column.mode === "REPEATED" || column.type === "STRUCT")
      throw invalid(`Column ${name} cannot be in a primary key`);
  }
  return state;
}

/** The resource as tables.get gives it. */
export function tableResource(table: StoredTable): JsonObject {
  const { name, state } = table;
  const schema = state.columns.length > 0 ? { schema: { fields: state.columns.map(fieldJson) } } : {};
  return {
    ...tableSummary(table),
    etag: etagOf(table),
    selfLink: `/bigquery/v2/projects/${name.project}/datasets/${name.dataset}/tables/${name.table}`,
    ...state.settings,
    ...schema,
    location: "US",
    numRows: String(table.rowCount),
    numBytes: String(table.byteCount),
    numLongTermBytes: "0",
    lastModifiedTime: String(state.modifiedMs),
  };
}

/** The part of it that tables.list gives. */
export function tableSummary({ name, state }: StoredTable): JsonObject {
  return {
    kind: "bigquery#table",
    id: textOfTable(name),
    tableReference: { projectId: name.project, datasetId: name.dataset, tableId: name.table },
    type: "TABLE",
    creationTime: String(state.createdMs),
  };
}

/** Changes with everything that a client can set; for `If-Match`. */
export function etagOf({ name, state }: StoredTable): string {
  const content = JSON.stringify([name, state.settings, state.columns.map(fieldJson), state.createdMs]);
  return createHash("sha256").update(content).digest("base64url").slice(0, 22);
}
