/**
 * The second opinion on every message: what `createTranscoder` must make of it, worked out in the plainest way from
 * design/conversions.md, sharing no code with the transcoder. Slow, and meant to be read.
 */
import type { RefusalCode } from "../../src/errors.ts";
import type { ColumnOptions, MappingOptions } from "../../src/mapping/mapping-plan.ts";
import type { Column, TableSchema } from "../../src/schema/table-schema.ts";
import { checkKept, jsonCell } from "./slow-json-column.ts";
import { checkKeys, decodeUtf8, depthOf, memberPath, maxPayloadDepth, readJson, readPayload } from "./slow-json.ts";
import type { JsonNode, Member, ObjectNode } from "./slow-json.ts";
import { Refused } from "./slow-refused.ts";
import type { Cell, Row } from "./slow-row.ts";
import { checkByteLength, limitedText, scalarCell } from "./slow-values.ts";

/** A message as the transcoder gets it. */
export interface SlowMessage {
  readonly data: Uint8Array;
  readonly messageId: string;
  readonly publishTimeMicros: bigint;
  readonly attributes: ReadonlyMap<string, string>;
  readonly orderingKey: string;
}

export type SlowResult = { readonly row: Row } | { readonly code: RefusalCode; readonly path: string };

const metadataNames = new Set(["subscription_name", "message_id", "publish_time", "attributes"]);

/** The row that a message becomes, or why it becomes none. */
export function slowTranscode(table: TableSchema, options: MappingOptions, message: SlowMessage): SlowResult {
  try {
    const payload =
      options.mode === "raw" ? rawRow(table, message.data, options) : tableRow(table, message.data, options);
    const metadata = options.writeMetadata ? metadataRow(table, message, options) : {};
    return { row: { ...payload, ...metadata } };
  } catch (error) {
    if (error instanceof Refused) return { code: error.code, path: error.path };
    throw error;
  }
}

function tableRow(table: TableSchema, data: Uint8Array, options: MappingOptions): Row {
  const root = readPayload(data);
  if (!root) throw new Refused("MALFORMED_PAYLOAD");
  const record: Level = { columns: table.columns, path: "", columnPath: "" };
  const row = structRow(root, record, options);
  checkRequired(root, record, options);
  return row;
}

/** Where the walk is: the columns of a record, and its path as the message spells it and as the table does. */
interface Level {
  readonly columns: readonly Column[];
  readonly path: string;
  readonly columnPath: string;
}

function structRow(node: ObjectNode, record: Level, options: MappingOptions): Row {
  const row: Record<`f${number}`, Cell> = {};
  const seen = new Set<string>();
  for (const { name, value } of node.members) {
    const path = memberPath(record.path, name);
    const index = columnIndex(record, name, options);
    const column = record.columns[index];
    if (!column && !options.dropUnknownFields) throw new Refused("UNKNOWN_FIELD", path);
    const identity = column ? `column ${index}` : `key ${name}`;
    if (seen.has(identity)) throw new Refused("DUPLICATE_FIELD", path);
    seen.add(identity);
    if (!column) {
      checkKeys(value, path);
      continue;
    }
    const cell = columnCell(value, { column, path, columnPath: memberPath(record.columnPath, column.name) }, options);
    if (cell !== undefined) row[`f${index + 1}`] = cell;
  }
  return row;
}

/** Index of the column that a key means, −1 if none. With metadata, the four columns at the top are not the payload's. */
function columnIndex({ columns, path }: Level, name: string, options: MappingOptions): number {
  const folded = name.toLowerCase();
  if (options.writeMetadata && path === "" && metadataNames.has(folded)) return -1;
  return columns.findIndex((column) => column.name.toLowerCase() === folded);
}

interface Place {
  readonly column: Column;
  readonly path: string;
  readonly columnPath: string;
}

/** What the row holds for a column of any mode; `undefined`: nothing. */
function columnCell(node: JsonNode, place: Place, options: MappingOptions): Cell | undefined {
  if (place.column.mode !== "REPEATED")
    return node.kind === "null" ? nullCell(place, options) : cellAt(node, place, options);
  if (node.kind === "null") return undefined;
  if (node.kind !== "array") throw new Refused("TYPE_MISMATCH", place.path);
  const cells = node.elements.map((element, i) =>
    elementCell(element, { ...place, path: `${place.path}[${i}]` }, options),
  );
  return cells.length === 0 ? undefined : cells;
}

function nullCell(place: Place, options: MappingOptions): Cell | undefined {
  return keepsNull(place, options) ? "null" : undefined;
}

function elementCell(node: JsonNode, place: Place, options: MappingOptions): Cell {
  if (node.kind !== "null") return cellAt(node, place, options);
  if (keepsNull(place, options)) return "null";
  throw new Refused("NULL_IN_ARRAY", place.path);
}

function keepsNull(place: Place, options: MappingOptions): boolean {
  return place.column.type === "JSON" && optionsOf(place, options).jsonNull === "keep";
}

function optionsOf(place: Place, options: MappingOptions): ColumnOptions {
  const path = place.columnPath.toLowerCase();
  return Object.entries(options.columns).find(([name]) => name.toLowerCase() === path)?.[1] ?? {};
}

function cellAt(node: JsonNode, place: Place, options: MappingOptions): Cell {
  const { column, path } = place;
  if (column.type === "STRUCT") {
    if (node.kind !== "object") throw new Refused("TYPE_MISMATCH", path);
    return structRow(node, { columns: column.fields, path, columnPath: place.columnPath }, options);
  }
  if (column.type === "RANGE") return rangeCell(node, place, options);
  if (column.type === "JSON") return jsonCell(node, path, options);
  // An object that is taken as a whole is checked as strictly as one that is dropped.
  if (column.type === "GEOGRAPHY" && node.kind === "object") checkKeys(node, path);
  try {
    return scalarCell(node, column, options, optionsOf(place, options));
  } catch (error) {
    throw error instanceof Refused ? new Refused(error.code, path) : error;
  }
}

function rangeCell(node: JsonNode, place: Place, options: MappingOptions): Cell {
  const { column, path } = place;
  if (node.kind !== "object") throw new Refused("TYPE_MISMATCH", path);
  const bound = { type: column.rangeElementType!, mode: "NULLABLE", fields: [], hasDefault: false } as const;
  const columns = [
    { name: "start", ...bound },
    { name: "end", ...bound },
  ];
  const own = optionsOf(place, options);
  const bounds = { columns, path, columnPath: "" };
  const range = structRow(node, bounds, { ...options, columns: { start: own, end: own } });
  const { f1: start, f2: end } = range as { f1?: string | number; f2?: string | number };
  if (start !== undefined && end !== undefined && BigInt(start) >= BigInt(end)) throw new Refused("OUT_OF_RANGE", path);
  return range;
}

/** REQUIRED columns without a value, in the order of the table: the last of all faults. */
function checkRequired(node: ObjectNode, record: Level, options: MappingOptions): void {
  for (const [index, column] of record.columns.entries()) {
    if (options.writeMetadata && record.path === "" && metadataNames.has(column.name.toLowerCase())) continue;
    const member = node.members.find(({ name }) => columnIndex(record, name, options) === index);
    const place = placeOf(column, member, record);
    const missing = !member || (member.value.kind === "null" && !keepsNull(place, options));
    const hasDefault = options.missingValues === "default" && column.hasDefault;
    if (missing && column.mode === "REQUIRED" && !hasDefault) throw new Refused("MISSING_REQUIRED", place.path);
    if (!missing && column.type === "STRUCT") checkRequiredWithin(member.value, place, options);
  }
}

function placeOf(column: Column, member: Member | undefined, record: Level): Place {
  return {
    column,
    path: memberPath(record.path, member?.name ?? column.name),
    columnPath: memberPath(record.columnPath, column.name),
  };
}

function checkRequiredWithin(node: JsonNode, place: Place, options: MappingOptions): void {
  const { column, path, columnPath } = place;
  if (node.kind === "object") checkRequired(node, { columns: column.fields, path, columnPath }, options);
  if (node.kind !== "array") return;
  for (const [i, element] of node.elements.entries()) {
    checkRequiredWithin(element, { ...place, path: `${path}[${i}]` }, options);
  }
}

/** The whole payload goes into the column `data`. */
function rawRow(table: TableSchema, data: Uint8Array, options: MappingOptions): Row {
  const index = table.columns.findIndex((column) => column.name.toLowerCase() === "data");
  return { [`f${index + 1}`]: rawCell(table.columns[index]!, data, options) };
}

function rawCell(column: Column, data: Uint8Array, options: MappingOptions): Cell {
  if (column.type === "BYTES") {
    checkByteLength(data, column);
    return Buffer.from(data);
  }
  const text = decodeUtf8(data);
  if (text === undefined) throw new Refused("MALFORMED_PAYLOAD");
  if (column.type === "STRING") return limitedText(text, column);
  const node = readJson(text);
  if (!node || depthOf(node) > maxPayloadDepth) throw new Refused("MALFORMED_PAYLOAD");
  checkKept(node, options);
  return text;
}

function metadataRow(table: TableSchema, message: SlowMessage, options: MappingOptions): Row {
  const attributes = Object.fromEntries(message.attributes);
  if (message.orderingKey !== "") attributes["ordering_key"] = message.orderingKey;
  const cells = new Map<string, Cell>([
    ["subscription_name", options.subscription],
    ["message_id", message.messageId],
    ["publish_time", String(message.publishTimeMicros)],
    ["attributes", JSON.stringify(attributes)],
  ]);
  const row: Record<`f${number}`, Cell> = {};
  for (const [index, column] of table.columns.entries()) {
    const cell = cells.get(column.name.toLowerCase());
    if (cell !== undefined) row[`f${index + 1}`] = cell;
  }
  return row;
}
