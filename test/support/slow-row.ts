/** Rows of the slow path: the message type of a table, built for protobufjs, and rows in plain form. */
import protobuf from "protobufjs";
import type { Column, ColumnType, TableSchema } from "../../src/schema/table-schema.ts";

/** One value as the row has it: int64 as decimal text (bytes, when read back, as base64). */
export type Cell = boolean | number | string | Uint8Array | Row | readonly Cell[];

/** A message by field number, `f1`, `f2` …; absent fields are absent. */
export interface Row {
  readonly [field: `f${number}`]: Cell;
}

export interface FieldShape {
  readonly number: number;
  /** Name of the column. */
  readonly name: string;
  readonly rule: "optional" | "required" | "repeated";
  readonly type: string;
  /** Only of a repeated field: its numbers are written one behind the other. */
  readonly packed: boolean;
  /** Only of a message. */
  readonly fields: readonly FieldShape[];
}

/** The fields that a table's rows have: columns numbered in their order, RANGE as `start` and `end`. */
export function rowShape(table: TableSchema, missingValues: "null" | "default"): readonly FieldShape[] {
  return shapesOf(table.columns, missingValues);
}

function shapesOf(columns: readonly Column[], missingValues: "null" | "default"): readonly FieldShape[] {
  return columns.map((column, index) => ({
    number: index + 1,
    name: column.name,
    rule: ruleOf(column, missingValues),
    type: protoType(column),
    packed: false,
    fields: column.type === "RANGE" ? boundsOf(column) : shapesOf(column.fields, missingValues),
  }));
}

function ruleOf(column: Column, missingValues: "null" | "default"): FieldShape["rule"] {
  if (column.mode === "REPEATED") return "repeated";
  const mayBeMissing = column.mode === "NULLABLE" || (missingValues === "default" && column.hasDefault);
  return mayBeMissing ? "optional" : "required";
}

function boundsOf(column: Column): readonly FieldShape[] {
  const type = column.rangeElementType === "DATE" ? "int32" : "int64";
  return ["start", "end"].map((name, index) => ({
    number: index + 1,
    name,
    rule: "optional",
    type,
    packed: false,
    fields: [],
  }));
}

const protoTypes: Readonly<Record<ColumnType, string>> = {
  BOOL: "bool",
  INT64: "int64",
  FLOAT64: "double",
  NUMERIC: "bytes",
  BIGNUMERIC: "bytes",
  STRING: "string",
  BYTES: "bytes",
  DATE: "int32",
  TIME: "int64",
  DATETIME: "int64",
  TIMESTAMP: "int64",
  JSON: "string",
  GEOGRAPHY: "string",
  INTERVAL: "string",
  RANGE: "message",
  STRUCT: "message",
};

function protoType(column: Column): string {
  return column.timestampPrecision === 12 ? "string" : protoTypes[column.type];
}

/** A protobufjs type whose fields are named `f1`, `f2` … after their numbers. */
export function messageType(fields: readonly FieldShape[]): protobuf.Type {
  const type = new protobuf.Type("Row");
  for (const { number, rule, type: fieldType, packed, fields: nested } of fields) {
    const name = `f${number}`;
    if (fieldType === "message") {
      const message = messageType(nested);
      message.name = `T${number}`;
      type.add(message);
    }
    const typeName = fieldType === "message" ? `T${number}` : fieldType;
    type.add(new protobuf.Field(name, number, typeName, rule, undefined, { packed }));
  }
  return type;
}

/** Row bytes → the row in plain form. */
export function readRow(type: protobuf.Type, bytes: Uint8Array): Row {
  return type.toObject(type.decode(bytes), { longs: String, bytes: String });
}

/** A row in plain form → row bytes. */
export function writeRow(type: protobuf.Type, row: Row): Uint8Array {
  return type.encode(type.fromObject(row)).finish();
}
