/** From the value that a protobuf field holds to the cell of a column: the pairs that BigQuery takes, and their meaning. */
import { type Cell, InvalidValue } from "./cell.ts";
import {
  checkedDay,
  checkedTimestamp,
  parseDate,
  parseDatetime,
  parseTime,
  parseTimestampPicos,
  unpackDatetime,
  unpackTime,
} from "./civil-time.ts";
import type { ColumnType, ValueType } from "./column.ts";
import { decimalFromBytes, decimalFromDouble, decimalFromInteger, decimalFromText } from "./decimal.ts";
import { checkedGeography } from "./geography.ts";
import { parseInterval } from "./interval.ts";
import { checkedJson } from "./json-text.ts";

/** Scalar types of protobuf; an enum's value is its number. */
export type ScalarType =
  | "double"
  | "float"
  | "int32"
  | "int64"
  | "uint32"
  | "uint64"
  | "sint32"
  | "sint64"
  | "fixed32"
  | "fixed64"
  | "sfixed32"
  | "sfixed64"
  | "bool"
  | "string"
  | "bytes"
  | "enum";

/** Every integer type as bigint, float and double as number. */
export type ScalarValue = bigint | number | boolean | string | Uint8Array;

/** @throws InvalidValue when the column cannot hold the value */
export type ToCell = (value: ScalarValue) => Cell;

const decimalSources: readonly ScalarType[] = [
  "int32",
  "int64",
  "uint32",
  "uint64",
  "double",
  "float",
  "string",
  "bytes",
];

/** What the service documents, column type by column type (the wrapper messages aside). */
const sources: Readonly<Record<ColumnType, readonly ScalarType[]>> = {
  BOOL: ["bool", "int32", "int64", "uint32", "uint64"],
  INT64: ["int32", "int64", "uint32", "enum", "sint32", "sint64", "fixed32", "sfixed32", "sfixed64"],
  FLOAT64: ["double", "float"],
  NUMERIC: decimalSources,
  BIGNUMERIC: decimalSources,
  STRING: ["string", "enum"],
  BYTES: ["bytes", "string"],
  DATE: ["int32", "int64", "string"],
  TIME: ["string", "int64"],
  DATETIME: ["string", "int64"],
  TIMESTAMP: ["int64", "int32", "uint32"],
  JSON: ["string"],
  GEOGRAPHY: ["string"],
  INTERVAL: ["string"],
  RANGE: [],
  STRUCT: [],
};

/** Whether a column takes its values from this type of field. */
export function takes(column: ValueType, source: ScalarType): boolean {
  if (column.type === "TIMESTAMP" && column.timestampPrecision === 12) return source === "string";
  return sources[column.type].includes(source);
}

/**
 * @param source one that the column takes
 * @param enumNames names by number, of a field that is an enum
 */
export function toCell(column: ValueType, source: ScalarType, enumNames?: ReadonlyMap<number, string>): ToCell {
  if (source === "enum") return fromEnum(column, enumNames ?? new Map());
  return (value) => cellOf(column, value);
}

/** A STRING gets the name, which the number must have; an INT64 the number. */
function fromEnum(column: ValueType, names: ReadonlyMap<number, string>): ToCell {
  if (column.type !== "STRING") return (value) => value as bigint;
  return (value) => {
    const name = names.get(Number(value));
    if (name === undefined) throw new InvalidValue("Enum has no name for this number");
    return limited(name, column);
  };
}

function cellOf(column: ValueType, value: ScalarValue): Cell {
  switch (column.type) {
    case "BOOL":
      return Boolean(value);
    case "INT64":
    case "FLOAT64":
      return value as Cell;
    case "NUMERIC":
    case "BIGNUMERIC":
      return decimalOf(value, { ...column, type: column.type });
    case "STRING":
      return limited(value as string, column);
    case "BYTES":
      return limitedBytes(Buffer.from(value as string | Uint8Array), column);
    case "DATE":
      return typeof value === "string" ? parseDate(value) : checkedDay(Number(value));
    case "TIME":
      return typeof value === "string" ? parseTime(value) : unpackTime(value as bigint);
    case "DATETIME":
      return typeof value === "string" ? parseDatetime(value) : unpackDatetime(value as bigint);
    case "TIMESTAMP":
      return typeof value === "string" ? parseTimestampPicos(value) : checkedTimestamp(value as bigint);
    case "JSON":
      return checkedJson(value as string);
    case "GEOGRAPHY":
      return checkedGeography(value as string);
    case "INTERVAL":
      return parseInterval(value as string);
    case "RANGE":
    case "STRUCT":
      throw new InvalidValue(`${column.type} takes a message`);
  }
}

function decimalOf(value: ScalarValue, type: ValueType & { readonly type: "NUMERIC" | "BIGNUMERIC" }): bigint {
  if (typeof value === "bigint") return decimalFromInteger(value, type);
  if (typeof value === "number") return decimalFromDouble(value, type);
  if (typeof value === "string") return decimalFromText(value, type);
  return decimalFromBytes(value as Uint8Array, type);
}

/** @throws InvalidValue when a STRING(L) has more than L code points */
function limited(text: string, { maxLength }: ValueType): string {
  if (maxLength === undefined || text.length <= maxLength) return text;
  const length = Array.from(text).length;
  if (length > maxLength) throw new InvalidValue(`STRING(${maxLength}) has maximum length ${maxLength}, got ${length}`);
  return text;
}

/** @throws InvalidValue when a BYTES(L) has more than L bytes */
function limitedBytes(bytes: Buffer, { maxLength }: ValueType): Buffer {
  if (maxLength !== undefined && bytes.length > maxLength) {
    throw new InvalidValue(`BYTES(${maxLength}) has maximum length ${maxLength}, got ${bytes.length}`);
  }
  return bytes;
}

/** The rule that a RANGE adds to those of its bounds. @throws InvalidValue */
export function checkedRange(bounds: readonly Cell[]): readonly Cell[] {
  const [start, end] = bounds as readonly (bigint | number | null)[];
  if (start != null && end != null && start >= end) throw new InvalidValue("RANGE must start before it ends");
  return bounds;
}
