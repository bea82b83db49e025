import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bindColumns } from "../../../../src/emulator/bigquery/column-binding.ts";
import type { Column } from "../../../../src/emulator/bigquery/column.ts";
import { plainRow, type PlainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import { emptyCell, RowDecoder } from "../../../../src/emulator/bigquery/row-decoder.ts";
import { RowValidator } from "../../../../src/emulator/bigquery/row-validator.ts";
import { parseWriterDescriptor } from "../../../../src/emulator/bigquery/writer-descriptor.ts";
import { bytes, columns, descriptor, field, repeated } from "./writer.ts";

function decode(table: readonly Column[], raw: Buffer, row: Buffer): PlainRow {
  const decoder = new RowDecoder(bindColumns(parseWriterDescriptor(raw), table, "stream"));
  return plainRow(table, decoder.decode(row, 0, emptyCell));
}

test("the row that Google's Node client was seen to send", () => {
  const table = columns(
    { name: "id", type: "INTEGER", mode: "REQUIRED" },
    { name: "str-列", type: "STRING" },
    { name: "n", type: "NUMERIC", mode: "REPEATED" },
    { name: "i", type: "INTEGER", mode: "REPEATED" },
    { name: "r", type: "RECORD", fields: [{ name: "a", type: "DATE" }] },
  );
  const raw = descriptor(
    [
      field("id", 1, "int64", { label: "LABEL_REQUIRED" }),
      field("x", 2, "string", { options: { ".google.cloud.bigquery.storage.v1.columnName": "str-列" } }),
      field("n", 3, "string", repeated),
      field("i", 4, "int64", { ...repeated, options: { packed: true } }),
      field("r", 6, "message", { typeName: "root_r" }),
    ],
    { nestedType: [{ name: "root_r", field: [field("a", 1, "int32")] }] },
  );
  expect(decode(table, raw, bytes("08 00 12 01 78 1a 03 31 2e 35 22 02 01 02 32 02 08 03"))).toEqual({
    id: "0",
    "str-列": "x",
    n: ["1.5"],
    i: ["1", "2"],
    r: { a: "1970-01-04" },
  });
});

test("what is not there is NULL, an array is empty", () => {
  const table = columns({ name: "a", type: "INT64" }, { name: "b", type: "STRING", mode: "REPEATED" });
  const raw = descriptor([field("a", 1, "int64"), field("b", 2, "string", repeated)]);
  expect(decode(table, raw, bytes(""))).toEqual({ a: null, b: [] });
});

test.each([
  ["int64", "08 ffffffffffffffffff01", "-1"],
  ["sint64", "08 01", "-1"],
  ["sint32", "08 03", "-2"],
  ["uint32", "08 ffffffff0f", "4294967295"],
  ["fixed32", "0d ffffffff", "4294967295"],
  ["sfixed32", "0d ffffffff", "-1"],
  ["sfixed64", "09 ffffffffffffffff", "-1"],
])("INT64 from %s", (type, row, value) => {
  expect(decode(columns({ name: "c", type: "INT64" }), descriptor([field("c", 1, type)]), bytes(row))).toEqual({
    c: value,
  });
});

test("a uint64 for a NUMERIC keeps its upper half", () => {
  const raw = descriptor([field("c", 1, "uint64")]);
  expect(decode(columns({ name: "c", type: "NUMERIC" }), raw, bytes("08 ffffffffffffffffff01"))).toEqual({
    c: "18446744073709551615",
  });
});

test("an enum is its name in a STRING and its number in an INT64", () => {
  const more = { enumType: [{ name: "E", value: [{ name: "RED", number: 3 }] }] };
  const raw = descriptor([field("c", 1, "enum", { typeName: "E" })], more);
  expect(decode(columns({ name: "c", type: "STRING" }), raw, bytes("0803"))).toEqual({ c: "RED" });
  expect(decode(columns({ name: "c", type: "INT64" }), raw, bytes("0803"))).toEqual({ c: "3" });
});

test("default_value of the descriptor stands for an absent field", () => {
  const table = columns(
    { name: "i", type: "INT64" },
    { name: "s", type: "STRING" },
    { name: "b", type: "BYTES" },
    { name: "f", type: "FLOAT64" },
    { name: "t", type: "BOOL" },
  );
  const raw = descriptor([
    field("i", 1, "int64", { defaultValue: "-7" }),
    field("s", 2, "string", { defaultValue: "" }),
    field("b", 3, "bytes", { defaultValue: "\\001\\xffa\\n" }),
    field("f", 4, "double", { defaultValue: "-inf" }),
    field("t", 5, "bool", { defaultValue: "true" }),
  ]);
  expect(decode(table, raw, bytes(""))).toEqual({ i: "-7", s: "", b: "Af9hCg==", f: "-Infinity", t: true });
});

interface Vector {
  readonly id: string;
  readonly type: string;
  readonly mode?: string;
  readonly params?: object;
  readonly ok: boolean;
  readonly wire?: { readonly protoType: string; readonly value?: string; readonly omitted?: boolean };
  readonly msg?: string;
}

const anything: unknown = expect.anything();

/** What the vector says of the stored value, where it says it in a form that needs no conversion of ours. */
function expected({ type, mode, wire }: Pick<Required<Vector>, "type" | "mode" | "wire">): unknown {
  const { omitted, value } = wire;
  if (omitted) return mode === "REPEATED" ? [] : null;
  if (type === "BYTES" && value !== undefined) return Buffer.from(value, "hex").toString("base64");
  const isText = type === "INT64" || type === "STRING" || type === "JSON" || type === "GEOGRAPHY";
  return isText && value !== undefined ? value : anything;
}

const file = new URL("../../../fixtures/bigquery-values.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { vectors: readonly Vector[] };
const scalars = vectors.filter(({ ok, wire, type }) => ok && wire && wire.protoType !== "message" && type !== "RECORD");

describe("the conversion vectors, read from their bytes", () => {
  test("there are some of every scalar type", () => {
    expect(new Set(scalars.map(({ type }) => type)).size).toBe(14);
  });

  test.each(scalars)("$id", ({ type, mode = "NULLABLE", params = {}, wire, msg }) => {
    const table = columns({ name: "c", type, mode, ...params });
    const raw = descriptor([field("c", 1, wire!.protoType, mode === "REPEATED" ? repeated : {})]);
    const row = bytes(msg!);
    const binding = bindColumns(parseWriterDescriptor(raw), table, "stream");
    expect(new RowValidator(binding, () => false).problemOf(row, 0, row.length)).toBeUndefined();
    expect(decode(table, raw, row)).toEqual({ c: expected({ type, mode, wire: wire! }) });
  });
});
