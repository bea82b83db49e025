/** The usual way without Google's client: `JSON.parse`, then protobufjs by a type that stands for the table. */
import protobuf from "protobufjs";
import type { Column } from "../../src/schema/table-schema.ts";
import type { Arm } from "../arm.ts";
import type { Corpus } from "../corpus.ts";
import { readRow } from "../../test/support/slow-row.ts";
import { comparableRow } from "./peer-row.ts";
import { documentConversion, type Document } from "./user-conversions.ts";

const protoTypes: Readonly<Partial<Record<Column["type"], string>>> = {
  INT64: "int64",
  FLOAT64: "double",
  BOOL: "bool",
  TIMESTAMP: "int64",
  DATE: "int32",
};

type NameOf = (column: Column, index: number) => string;

/** Everything that has no type above travels as text. */
function tableType(columns: readonly Column[], name: string, nameOf: NameOf): protobuf.Type {
  const type = new protobuf.Type(name);
  for (const [index, column] of columns.entries()) {
    const structName = column.type === "STRUCT" ? `Struct${index}` : undefined;
    if (structName !== undefined) type.add(tableType(column.fields, structName, nameOf));
    const fieldType = structName ?? protoTypes[column.type] ?? "string";
    const rule = column.mode === "REPEATED" ? "repeated" : "optional";
    type.add(new protobuf.Field(nameOf(column, index), index + 1, fieldType, rule));
  }
  return type;
}

export function protobufjs({ table, payloads, parts }: Corpus): Arm {
  const type = tableType(table.columns, "Row", (column) => column.name);
  const numbered = tableType(table.columns, "Row", (_column, index) => `f${index + 1}`);
  const convert = documentConversion(table.columns);
  const encode = (payload: Buffer): Uint8Array =>
    type.encode(type.fromObject(convert(JSON.parse(payload.toString()) as Document))).finish();
  return {
    run(part) {
      for (const payload of parts[part]!) encode(payload);
    },
    rows: (count) =>
      payloads.slice(0, count).map((payload) => comparableRow(readRow(numbered, encode(payload)), table.columns)),
  };
}
