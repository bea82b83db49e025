import { describe, expect, test } from "vitest";
import { AppendRefusal } from "../../../../src/emulator/bigquery/append-refusal.ts";
import { bindColumns } from "../../../../src/emulator/bigquery/column-binding.ts";
import type { Column } from "../../../../src/emulator/bigquery/column.ts";
import { parseWriterDescriptor } from "../../../../src/emulator/bigquery/writer-descriptor.ts";
import { columns, descriptor, field, repeated } from "./writer.ts";

const stream = "projects/p/datasets/d/tables/t/streams/_default";

function refusal(raw: Buffer, table: readonly Column[]): AppendRefusal {
  try {
    bindColumns(parseWriterDescriptor(raw), table, stream);
  } catch (error) {
    if (error instanceof AppendRefusal) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}

const table = columns(
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "Note", type: "STRING" },
  { name: "tags", type: "STRING", mode: "REPEATED" },
  { name: "made", type: "TIMESTAMP", mode: "REQUIRED", defaultValueExpression: "CURRENT_TIMESTAMP()" },
  { name: "part", type: "RECORD", fields: [{ name: "x", type: "DATE" }] },
);

test("fields are paired by name without case; columns may be left out", () => {
  const raw = descriptor([field("ID", 9, "int64"), field("note", 2, "string")]);
  const binding = bindColumns(parseWriterDescriptor(raw), table, stream);
  expect(binding.fields.map(({ path, position }) => [path, position])).toEqual([
    ["id", 0],
    ["Note", 1],
  ]);
  expect(binding.absent).toEqual([2, 3, 4]);
});

describe("refusals", () => {
  test("a field that the table lacks, at any depth, is an extra field", () => {
    const found = refusal(descriptor([field("id", 1, "int64"), field("more", 2, "string")]), table);
    expect(found.status).toBe("INVALID_ARGUMENT");
    expect(found.storageFault).toEqual({ code: "SCHEMA_MISMATCH_EXTRA_FIELDS", entity: stream });
    expect(found.message).toContain("'more'");
    const nested = descriptor([field("id", 1, "int64"), field("part", 2, "message", { typeName: "P" })], {
      nestedType: [{ name: "P", field: [field("y", 1, "int32")] }],
    });
    expect(refusal(nested, table).message).toContain("'part.y'");
  });

  test("a REQUIRED column without default needs a field", () => {
    expect(refusal(descriptor([field("note", 1, "string")]), table).message).toContain("REQUIRED column id");
  });

  test("labels follow modes", () => {
    const id = field("id", 1, "int64");
    expect(refusal(descriptor([id, field("tags", 2, "string")]), table).message).toContain("mode REPEATED");
    expect(refusal(descriptor([id, field("note", 2, "string", repeated)]), table).message).toContain("label repeated");
  });

  test("change data is for later", () => {
    const raw = descriptor([field("id", 1, "int64"), field("_change_type", 2, "string")]);
    expect(refusal(raw, table).status).toBe("UNIMPLEMENTED");
  });

  test("a message for a scalar column, a scalar for a STRUCT", () => {
    const wrapper = { name: "Int64Value", field: [field("value", 1, "int64")] };
    const raw = descriptor([field("id", 1, "message", { typeName: "Int64Value" })], { nestedType: [wrapper] });
    expect(refusal(raw, table).message).toContain("wrappers");
    expect(refusal(descriptor([field("id", 1, "int64"), field("part", 2, "string")]), table).message).toContain(
      "STRUCT",
    );
  });
});

// The table of the service's documentation, type by type.
const scalars = [
  "double",
  "float",
  "int32",
  "int64",
  "uint32",
  "uint64",
  "sint32",
  "sint64",
  "fixed32",
  "fixed64",
  "sfixed32",
  "sfixed64",
  "bool",
  "string",
  "bytes",
];
const decimals = ["int32", "int64", "uint32", "uint64", "double", "float", "string", "bytes"];

test.each([
  [{ type: "BOOL" }, ["bool", "int32", "int64", "uint32", "uint64"]],
  [{ type: "INT64" }, ["int32", "int64", "uint32", "sint32", "sint64", "fixed32", "sfixed32", "sfixed64"]],
  [{ type: "FLOAT64" }, ["double", "float"]],
  [{ type: "NUMERIC" }, decimals],
  [{ type: "BIGNUMERIC" }, decimals],
  [{ type: "STRING" }, ["string"]],
  [{ type: "BYTES" }, ["bytes", "string"]],
  [{ type: "DATE" }, ["int32", "int64", "string"]],
  [{ type: "TIME" }, ["string", "int64"]],
  [{ type: "DATETIME" }, ["string", "int64"]],
  [{ type: "TIMESTAMP" }, ["int64", "int32", "uint32"]],
  [{ type: "TIMESTAMP", timestampPrecision: "12" }, ["string"]],
  [{ type: "JSON" }, ["string"]],
  [{ type: "GEOGRAPHY" }, ["string"]],
  [{ type: "INTERVAL" }, ["string"]],
])("%j takes %j and nothing else", (column, taken) => {
  const one = columns({ name: "c", ...column });
  const accepted = scalars.filter((type) => {
    try {
      bindColumns(parseWriterDescriptor(descriptor([field("c", 1, type)])), one, stream);
      return true;
    } catch {
      return false;
    }
  });
  expect(accepted.toSorted()).toEqual(taken.toSorted());
});
