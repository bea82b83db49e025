/** One value of the slow path: which text, number or boolean goes into which column, and what the row then holds. */
import type { ColumnOptions, MappingOptions } from "../../src/mapping/mapping-plan.ts";
import type { Column, ColumnType } from "../../src/schema/table-schema.ts";
import { checkGeographyText, checkGeoJson } from "./slow-geography.ts";
import { intervalOfText } from "./slow-interval.ts";
import type { JsonNode } from "./slow-json.ts";
import * as numbers from "./slow-numbers.ts";
import { Refused } from "./slow-refused.ts";
import type { Cell } from "./slow-row.ts";
import * as times from "./slow-times.ts";

/** What a conversion may ask beside the value. */
interface How {
  readonly column: Column;
  readonly numericBytes: MappingOptions["numericBytes"];
  readonly loss: MappingOptions["onPrecisionLoss"];
  readonly unit: NonNullable<ColumnOptions["timestampUnit"]>;
}

/** From the characters of a text, or the source text of a number or boolean. */
type Conversions = Readonly<Partial<Record<ColumnType, (source: string, how: How) => Cell>>>;

const ofText: Conversions = {
  BOOL: booleanOfText,
  INT64: (text) => String(numbers.int64OfText(text)),
  FLOAT64: numbers.float64OfText,
  NUMERIC: (text, { column, numericBytes, loss }) => numbers.decimalOfText(text, column, numericBytes, loss),
  BIGNUMERIC: (text, { column, numericBytes, loss }) => numbers.decimalOfText(text, column, numericBytes, loss),
  STRING: (text, { column }) => limitedText(text, column),
  BYTES: (text, { column }) => limitedBytes(text, column),
  DATE: times.dateOfText,
  TIME: (text, { loss }) => String(times.timeOfText(text, loss)),
  DATETIME: (text, { loss }) => String(times.datetimeOfText(text, loss)),
  TIMESTAMP: (text, { column, unit, loss }) =>
    column.timestampPrecision === 12
      ? times.picosecondsOfText(text, unit, loss)
      : String(times.timestampOfText(text, unit, loss)),
  GEOGRAPHY: (text) => {
    checkGeographyText(text);
    return text;
  },
  INTERVAL: (text, { loss }) => intervalOfText(text, loss),
};

const ofNumber: Conversions = {
  INT64: (source) => String(numbers.int64OfNumber(source)),
  FLOAT64: numbers.float64OfNumber,
  NUMERIC: (source, { column }) => numbers.decimalOfNumber(source, column),
  BIGNUMERIC: (source, { column }) => numbers.decimalOfNumber(source, column),
  STRING: (source, { column }) => limitedText(source, column),
  DATE: times.dateOfNumber,
  TIME: (source) => String(times.timeOfNumber(source)),
  DATETIME: (source) => String(times.datetimeOfNumber(source)),
  TIMESTAMP: (source, { column, unit, loss }) =>
    column.timestampPrecision === 12
      ? times.picosecondsOfNumber(source, unit, loss)
      : String(times.timestampOfNumber(source, unit, loss)),
};

const ofBoolean: Conversions = {
  BOOL: (source) => source === "true",
  STRING: (source, { column }) => limitedText(source, column),
};

/** A value for one scalar that is not null; JSON columns are not among them. */
export function scalarCell(node: JsonNode, column: Column, options: MappingOptions, own: ColumnOptions): Cell {
  if (column.type === "GEOGRAPHY" && node.kind === "object") {
    checkGeoJson(node);
    return node.source;
  }
  const convert = conversionsOf(node)[column.type];
  if (!convert) throw new Refused("TYPE_MISMATCH");
  const how = {
    column,
    numericBytes: options.numericBytes,
    loss: options.onPrecisionLoss,
    unit: own.timestampUnit ?? "micros",
  };
  return convert(node.kind === "text" ? node.value : node.source, how);
}

function conversionsOf(node: JsonNode): Conversions {
  if (node.kind === "text") return ofText;
  if (node.kind === "number") return ofNumber;
  return node.kind === "boolean" ? ofBoolean : {};
}

function booleanOfText(text: string): boolean {
  const word = text.toLowerCase();
  if (word !== "true" && word !== "false") throw new Refused("TYPE_MISMATCH");
  return word === "true";
}

/** STRING(L) counts code points. */
export function limitedText(text: string, column: Column): string {
  if (column.maxLength !== undefined && Array.from(text).length > column.maxLength) throw new Refused("OUT_OF_RANGE");
  return text;
}

/** BYTES(L) counts bytes. */
function limitedBytes(text: string, column: Column): Buffer {
  const bytes = numbers.base64(text);
  if (!bytes) throw new Refused("TYPE_MISMATCH");
  checkByteLength(bytes, column);
  return bytes;
}

export function checkByteLength(bytes: Uint8Array, column: Column): void {
  if (column.maxLength !== undefined && bytes.length > column.maxLength) throw new Refused("OUT_OF_RANGE");
}
