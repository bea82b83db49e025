/** Random tables and the options of their mapping. */
import type { ColumnOptions, MappingOptions } from "../../src/mapping/mapping-plan.ts";
import { columnTypes, parseTableSchema } from "../../src/schema/table-schema.ts";
import type { Column, TableSchema } from "../../src/schema/table-schema.ts";
import { chance, pick, times } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";

const plainNames = [
  "id",
  "Name",
  "user_id",
  "at",
  "Total",
  "x",
  "tags",
  "_a1",
  "longer_name_of_a_column",
  `wide_${"column_".repeat(40)}`,
];
/** Names that lead naive code astray, and flexible names, which need an annotation in the descriptor. */
const oddNames = [
  "__proto__",
  "constructor",
  "start",
  "größe",
  "名前",
  "a b",
  "per-cent %",
  "x:y",
  "Ж<ж>",
  "1st",
  "Straße",
];
const metadataNames = ["subscription_name", "message_id", "publish_time", "attributes"];

const depthLimit = 3;

export function randomTable(choose: Choose, mostColumns = 7): TableSchema {
  return parseTableSchema(randomFields(choose, choose(1, mostColumns), 1));
}

/** The JSON of `count` columns. */
function randomFields(choose: Choose, count: number, depth: number): object[] {
  const taken = new Set<string>();
  return times(count, () => {
    let name = chance(choose, 30) ? pick(choose, oddNames) : pick(choose, plainNames);
    while (taken.has(name.toLowerCase())) name += String(taken.size);
    taken.add(name.toLowerCase());
    return { name, ...randomMode(choose, depth), ...randomType(choose, depth) };
  });
}

function randomMode(choose: Choose, depth: number): object {
  const mode = pick(choose, ["NULLABLE", "NULLABLE", "NULLABLE", "REPEATED", "REQUIRED"]);
  const hasDefault = depth === 1 && mode !== "REPEATED" && chance(choose, 20);
  return hasDefault ? { mode, defaultValueExpression: "NULL" } : { mode };
}

function randomType(choose: Choose, depth: number): object {
  const type = pick(choose, depth < depthLimit ? columnTypes : columnTypes.filter((known) => known !== "STRUCT"));
  return { type, ...randomParameters(choose, type, depth) };
}

function randomParameters(choose: Choose, type: Column["type"], depth: number): object {
  if (type === "STRUCT") return { fields: randomFields(choose, choose(1, 4), depth + 1) };
  if (type === "RANGE") return { rangeElementType: { type: pick(choose, ["DATE", "DATETIME", "TIMESTAMP"]) } };
  if (type === "NUMERIC" && chance(choose, 40)) return randomDecimal(choose, 9, 29);
  if (type === "BIGNUMERIC" && chance(choose, 40)) return randomDecimal(choose, 38, 38);
  if ((type === "STRING" || type === "BYTES") && chance(choose, 30))
    return { maxLength: String(chance(choose, 80) ? choose(1, 8) : choose(101, 3000)) };
  return type === "TIMESTAMP" && chance(choose, 20) ? { timestampPrecision: "12" } : {};
}

function randomDecimal(choose: Choose, maxScale: number, maxIntegerDigits: number): object {
  const scale = choose(0, maxScale);
  const precision = choose(Math.max(1, scale), scale + maxIntegerDigits);
  return chance(choose, 80) || scale > 0 ? { precision: String(precision), scale: String(scale) } : { precision };
}

/** Options for a table-schema mapping of `table`. */
export function randomOptions(choose: Choose, table: TableSchema): MappingOptions {
  return {
    mode: "table",
    dropUnknownFields: chance(choose, 40),
    writeMetadata: false,
    subscription: "projects/p/subscriptions/s",
    numericBytes: pick(choose, ["refuse", "refuse", "base64", "latin1"]),
    onPrecisionLoss: pick(choose, ["reject", "reject", "round"]),
    missingValues: pick(choose, ["null", "default"]),
    columns: Object.fromEntries(table.columns.flatMap((column) => randomColumnOptions(choose, column, ""))),
  };
}

function randomColumnOptions(choose: Choose, column: Column, parent: string): [path: string, ColumnOptions][] {
  const path = parent + column.name;
  const nested = column.fields.flatMap((field) => randomColumnOptions(choose, field, `${path}.`));
  const options = optionsFor(choose, column);
  return options ? [[chance(choose, 30) ? path.toLowerCase() : path, options], ...nested] : nested;
}

function optionsFor(choose: Choose, column: Column): ColumnOptions | undefined {
  if (chance(choose, 50)) return undefined;
  if (column.type === "JSON") return { jsonNull: pick(choose, ["null", "keep"]) };
  if (column.type !== "TIMESTAMP" && column.rangeElementType !== "TIMESTAMP") return undefined;
  return { timestampUnit: pick(choose, ["seconds", "millis", "micros", "nanos"]) };
}

/** The same table with the four metadata columns put in somewhere, and metadata written. */
export function withMetadata(
  choose: Choose,
  table: TableSchema,
  options: MappingOptions,
): { table: TableSchema; options: MappingOptions } {
  const columns = table.columns.filter((column) => !metadataNames.includes(column.name.toLowerCase()));
  for (const name of metadataNames) columns.splice(choose(0, columns.length), 0, metadataColumn(choose, name));
  return { table: { ...table, columns }, options: { ...options, writeMetadata: true } };
}

function metadataColumn(choose: Choose, name: string): Column {
  const type = name === "publish_time" ? "TIMESTAMP" : name === "attributes" && chance(choose, 50) ? "JSON" : "STRING";
  return { name, type, mode: pick(choose, ["NULLABLE", "REQUIRED"]), fields: [], hasDefault: false };
}

/** A table for raw mode: `data`, and columns that stay NULL. */
export function randomRawTable(choose: Choose): TableSchema {
  const data = { name: pick(choose, ["data", "Data"]), type: pick(choose, ["BYTES", "STRING", "JSON"]) };
  const limit = data.type !== "JSON" && chance(choose, 30) ? { maxLength: String(choose(1, 60)) } : {};
  const others = chance(choose, 50) ? [{ name: "note", type: "STRING" }] : [];
  return parseTableSchema([...others, { ...data, ...limit, mode: pick(choose, ["NULLABLE", "REQUIRED"]) }]);
}
