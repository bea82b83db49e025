/** How the values of each column type travel in a row: the facts that conversions and the row descriptor share. */
import type { Column, ColumnType, RangeElementType } from "./table-schema.ts";

/** A protobuf field type that rows use. */
export type ProtoType = "bool" | "int32" | "int64" | "double" | "string" | "bytes" | "message";

/** Number of the type in `google.protobuf.FieldDescriptorProto.Type`. */
export const protoTypeNumbers: Readonly<Record<ProtoType, number>> = {
  double: 1,
  int64: 3,
  int32: 5,
  bool: 8,
  string: 9,
  message: 11,
  bytes: 12,
};

/** Low three bits of a field's tag: 0 varint, 1 eight bytes, 2 length-delimited. */
export const wireTypes: Readonly<Record<ProtoType, 0 | 1 | 2>> = {
  bool: 0,
  int32: 0,
  int64: 0,
  double: 1,
  string: 2,
  bytes: 2,
  message: 2,
};

const protoTypes: Readonly<Record<ColumnType, ProtoType>> = {
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

/** The protobuf type of one value of a column: a TIMESTAMP of twelve fraction digits is text. */
export function protoTypeOf(column: Column): ProtoType {
  if (column.type === "TIMESTAMP" && column.timestampPrecision === 12) return "string";
  return protoTypes[column.type];
}

/** The bounds of a RANGE column as columns of their own: `start` is field 1, `end` is field 2, both NULLABLE. */
function rangeBounds(elementType: RangeElementType): readonly [start: Column, end: Column] {
  const bound = (name: string): Column => ({
    name,
    type: elementType,
    mode: "NULLABLE",
    fields: [],
    hasDefault: false,
  });
  return [bound("start"), bound("end")];
}

/** The columns inside a column that travels as a message: the fields of a STRUCT, the bounds of a RANGE; else none. */
export function innerColumns(column: Column): readonly Column[] {
  return column.type === "RANGE" ? rangeBounds(column.rangeElementType ?? "DATE") : column.fields;
}
