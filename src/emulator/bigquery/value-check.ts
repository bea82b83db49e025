/**
 * Checks of single values as they stand on the wire. The usual pairs of column and field are checked without making
 * a value; every other pair makes the cell and throws it away.
 */
import { isUtf8 } from "node:buffer";
import { InvalidValue } from "./cell.ts";
import { firstDay, firstMicro, lastDay, lastMicro } from "./civil-time.ts";
import type { Column } from "./column.ts";
import { type ScalarType, type ScalarValue, toCell } from "./value-codec.ts";
import { fixed32Wire, fixed64Wire, lengthWire, varintWire } from "./wire-reader.ts";
import type { FieldShape } from "./writer-descriptor.ts";

/** @throws InvalidValue */
export interface ValueCheck {
  /** Of a varint or fixed value: its halves. */
  number(low: number, high: number): void;
  /** Of a length-delimited value: where it stands. */
  bytes(buffer: Buffer, start: number, end: number): void;
}

const wireTypes: Readonly<Record<ScalarType | "message", number>> = {
  double: fixed64Wire,
  float: fixed32Wire,
  int32: varintWire,
  int64: varintWire,
  uint32: varintWire,
  uint64: varintWire,
  sint32: varintWire,
  sint64: varintWire,
  fixed32: fixed32Wire,
  fixed64: fixed64Wire,
  sfixed32: fixed32Wire,
  sfixed64: fixed64Wire,
  bool: varintWire,
  string: lengthWire,
  bytes: lengthWire,
  enum: varintWire,
  message: lengthWire,
};

/** The wire type on which values of a field travel. */
export function wireTypeOf(type: FieldShape["type"]): number {
  return wireTypes[type];
}

const nothing = (): void => {};
const unchecked: ValueCheck = { number: nothing, bytes: nothing };

/** What checks the values of a field that goes to this column; a message is checked field by field, not here. */
export function checkOf(column: Column, { type, enumNames }: FieldShape): ValueCheck {
  if (type === "message") return unchecked;
  return quickCheck(column, type) ?? fullCheck(column, type, enumNames);
}

function quickCheck(column: Column, source: ScalarType): ValueCheck | undefined {
  switch (column.type) {
    case "BOOL":
    case "INT64":
    case "FLOAT64":
      return unchecked;
    case "STRING":
      return source === "string" && column.maxLength === undefined ? { ...unchecked, bytes: checkUtf8 } : undefined;
    case "BYTES":
      return source === "bytes" && column.maxLength === undefined ? unchecked : undefined;
    case "DATE":
      return source === "int32" ? { ...unchecked, number: checkDay } : undefined;
    case "TIMESTAMP":
      return source === "int64" ? nearCheck(column, source, isNearTimestamp) : undefined;
    case "TIME":
      return source === "int64" ? nearCheck(column, source, isPackedTime) : undefined;
    case "DATETIME":
      return source === "int64" ? nearCheck(column, source, isPackedDatetime) : undefined;
    case "NUMERIC":
    case "BIGNUMERIC":
      return source === "bytes" && column.precision === undefined ? decimalCheck(column) : undefined;
    default:
      return undefined;
  }
}

const smallAscii = 64;

function checkUtf8(buffer: Buffer, start: number, end: number): void {
  if (end - start <= smallAscii) {
    let at = start;
    while (at < end && buffer[at]! < 0x80) at++;
    if (at === end) return;
  }
  if (!isUtf8(buffer.subarray(start, end))) throw new InvalidValue("Text is no valid UTF-8");
}

function checkDay(low: number): void {
  const days = low | 0;
  if (days < firstDay || days > lastDay) throw new InvalidValue("DATE is out of range");
}

/** Values that are surely right pass; the full check looks at the others. */
function nearCheck(
  column: Column,
  source: ScalarType,
  isSurelyRight: (low: number, high: number) => boolean,
): ValueCheck {
  const full = fullCheck(column, source);
  return {
    ...unchecked,
    number(low, high) {
      if (!isSurelyRight(low, high)) full.number(low, high);
    },
  };
}

/** High halves of the first and last microsecond of TIMESTAMP, one step inside. */
const firstHigh = Number(firstMicro >> 32n) + 1;
const lastHigh = Number(lastMicro >> 32n) - 1;

function isNearTimestamp(_low: number, high: number): boolean {
  const signed = high | 0;
  return signed >= firstHigh && signed <= lastHigh;
}

function isPackedTime(low: number, high: number): boolean {
  return high < 24 && isPackedMinute(low);
}

/** Any day up to the 28th exists. */
function isPackedDatetime(low: number, high: number): boolean {
  const day = (high >>> 5) & 31;
  const month = (high >>> 10) & 15;
  const year = high >>> 14;
  const isDay = day >= 1 && day <= 28 && month >= 1 && month <= 12 && year >= 1 && year <= 9999;
  return isDay && (high & 31) < 24 && isPackedMinute(low);
}

/** Minute, second and microsecond of both packed forms. */
function isPackedMinute(low: number): boolean {
  return low >>> 26 < 60 && ((low >>> 20) & 63) < 60 && (low & 0xfffff) < 1_000_000;
}

/** Of 15 (32) bytes every value is in range. */
function decimalCheck(column: Column): ValueCheck {
  const full = fullCheck(column, "bytes");
  const surelyRight = column.type === "NUMERIC" ? 15 : 32;
  return {
    ...unchecked,
    bytes(buffer, start, end) {
      if (end === start || end - start > surelyRight) full.bytes(buffer, start, end);
    },
  };
}

function fullCheck(column: Column, source: ScalarType, enumNames?: ReadonlyMap<number, string>): ValueCheck {
  const cell = toCell(column, source, enumNames);
  return {
    number: (low, high) => void cell(numberValue(source, low, high)),
    bytes(buffer, start, end) {
      if (source === "string") checkUtf8(buffer, start, end);
      cell(source === "string" ? buffer.toString("utf8", start, end) : buffer.subarray(start, end));
    },
  };
}

const view = new DataView(new ArrayBuffer(8));

/** A number of the wire as its type reads it. */
export function numberValue(source: ScalarType, low: number, high: number): ScalarValue {
  view.setUint32(0, low, true);
  view.setUint32(4, high, true);
  switch (source) {
    case "double":
      return view.getFloat64(0, true);
    case "float":
      return view.getFloat32(0, true);
    case "bool":
      return low !== 0 || high !== 0;
    case "int32":
    case "sfixed32":
    case "enum":
      return BigInt(view.getInt32(0, true));
    case "sint32":
      return BigInt((low >>> 1) ^ -(low & 1));
    case "uint32":
    case "fixed32":
      return BigInt(low);
    case "int64":
    case "sfixed64":
      return view.getBigInt64(0, true);
    case "uint64":
    case "fixed64":
      return view.getBigUint64(0, true);
    case "sint64": {
      const zigzag = view.getBigUint64(0, true);
      return (zigzag >> 1n) ^ -(zigzag & 1n);
    }
    case "string":
    case "bytes":
      throw new Error(`${source} is no number`);
  }
}
