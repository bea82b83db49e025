/** Random payloads for a table: mostly fitting, with edges, odd spellings and faults mixed in. */
import type { ColumnOptions, MappingOptions } from "../../src/mapping/mapping-plan.ts";
import type { Column, TableSchema } from "../../src/schema/table-schema.ts";
import { chance, pick, shuffled } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";
import { blanks, objectText, quoted, randomArray, randomJson } from "./random-json.ts";
import { randomScalar } from "./random-scalars.ts";
import { readJson } from "./slow-json.ts";
import { jsonCell } from "./slow-json-column.ts";
import { scalarCell } from "./slow-values.ts";

/** One document: `faultPercent` of the values are of a wrong kind, of the keys unknown or doubled; 0 means that it should fit. */
interface Way {
  readonly choose: Choose;
  readonly faultPercent: number;
  readonly options: MappingOptions;
}

interface Level {
  readonly columns: readonly Column[];
  readonly path: string;
}

/** The JSON text of a payload. */
export function randomDocument(choose: Choose, table: TableSchema, options: MappingOptions): string {
  const way = { choose, faultPercent: pick(choose, [0, 0, 1, 5]), options };
  return blanks(choose) + randomRecord(way, { columns: table.columns, path: "" }) + blanks(choose);
}

function randomRecord(way: Way, level: Level): string {
  const { choose } = way;
  const members = level.columns.flatMap((column) => randomMembers(way, column, level));
  if (chance(choose, way.faultPercent)) {
    members.push({
      name: pick(choose, ["other", "unknown key", "", "end", "long".repeat(400)]),
      value: randomJson(choose, 2, true),
    });
  }
  if (members.length > 0 && chance(choose, way.faultPercent)) members.push(pick(choose, members));
  return objectText(choose, chance(choose, 20) ? shuffled(choose, members) : members);
}

function randomMembers(way: Way, column: Column, level: Level): { name: string; value: string }[] {
  const absent = column.mode === "REQUIRED" ? way.faultPercent / 2 : 15;
  if (chance(way.choose, absent)) return [];
  const value = randomValue(way, column, { ...level, path: level.path + column.name });
  return [{ name: spelled(way.choose, column.name), value }];
}

/** Keys are compared without case. */
function spelled(choose: Choose, name: string): string {
  if (!chance(choose, 15)) return name;
  return chance(choose, 50) ? name.toUpperCase() : name.toLowerCase();
}

function randomValue(way: Way, column: Column, level: Level): string {
  const { choose, faultPercent } = way;
  if (chance(choose, column.mode === "REQUIRED" ? faultPercent / 2 : 10)) return "null";
  if (chance(choose, faultPercent)) return randomJson(choose, 2, true);
  if (column.mode !== "REPEATED") return randomElement(way, column, level);
  return randomArray(choose, () => (chance(choose, faultPercent) ? "null" : randomElement(way, column, level)));
}

function randomElement(way: Way, column: Column, level: Level): string {
  if (column.type === "STRUCT") return randomRecord(way, { columns: column.fields, path: `${level.path}.` });
  const own = optionsAt(way, level.path);
  return column.type === "RANGE" ? randomRange(way, column, own) : probablyFitting(way, column, own);
}

/** A document without faults needs values that fit: of a few candidates the first that does. */
function probablyFitting(way: Way, column: Column, own: ColumnOptions): string {
  let value = randomScalar(way.choose, column, own);
  for (let tries = 0; tries < 3 && way.faultPercent === 0 && !fits(value, column, way, own); tries++) {
    value = randomScalar(way.choose, column, own);
  }
  return value;
}

function fits(value: string, column: Column, way: Way, own: ColumnOptions): boolean {
  const node = readJson(value);
  try {
    if (!node) return false;
    if (column.type === "JSON") jsonCell(node, "", way.options);
    else scalarCell(node, column, way.options, own);
    return true;
  } catch {
    return false;
  }
}

function optionsAt(way: Way, path: string): ColumnOptions {
  const found = Object.entries(way.options.columns).find(([name]) => name.toLowerCase() === path.toLowerCase());
  return found?.[1] ?? {};
}

function randomRange(way: Way, column: Column, own: ColumnOptions): string {
  const { choose } = way;
  const bound = (): string => {
    if (chance(choose, 15)) return "null";
    return probablyFitting(way, { ...column, type: column.rangeElementType!, mode: "NULLABLE" }, own);
  };
  const bounds = [
    { name: spelled(choose, "start"), value: bound() },
    { name: spelled(choose, "end"), value: bound() },
  ].filter(() => !chance(choose, 15));
  if (chance(choose, way.faultPercent)) bounds.push({ name: pick(choose, ["END", "stop"]), value: bound() });
  return objectText(choose, bounds);
}

/** A payload for raw mode: JSON, near-JSON, or bytes. */
export function randomRawPayload(choose: Choose): Buffer {
  const text = chance(choose, 60) ? randomJson(choose, 3, true) : quoted(choose, "x").slice(choose(0, 1));
  const bytes = Buffer.from(blanks(choose) + text + blanks(choose));
  if (bytes.length > 0 && chance(choose, 15)) bytes[choose(0, bytes.length - 1)] = choose(0, 255);
  return bytes;
}
