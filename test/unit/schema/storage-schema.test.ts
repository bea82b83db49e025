import { describe, expect, test } from "vitest";
import { storageProtos } from "../../../src/lib/protos.ts";
import { parseStorageSchema } from "../../../src/schema/storage-schema.ts";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";

const message = {
  fields: [
    { name: "id", type: "INT64", mode: "REQUIRED" },
    { name: "f", type: "DOUBLE", mode: "NULLABLE", defaultValueExpression: "0.5" },
    { name: "n", type: "NUMERIC", mode: "REPEATED", precision: 10, scale: 2 },
    { name: "s", type: "STRING", maxLength: 20 },
    { name: "at", type: "TIMESTAMP", timestampPrecision: { value: 12 } },
    { name: "r", type: "RANGE", rangeElementType: { type: "DATE" } },
    { name: "st", type: "STRUCT", fields: [{ name: "b", type: "BYTES" }] },
  ],
};

const sameByRest = parseTableSchema({
  schema: {
    fields: [
      { name: "id", type: "INTEGER", mode: "REQUIRED" },
      { name: "f", type: "FLOAT", defaultValueExpression: "0.5" },
      { name: "n", type: "NUMERIC", mode: "REPEATED", precision: "10", scale: "2" },
      { name: "s", type: "STRING", maxLength: "20" },
      { name: "at", type: "TIMESTAMP", timestampPrecision: "12" },
      { name: "r", type: "RANGE", rangeElementType: { type: "DATE" } },
      { name: "st", type: "RECORD", fields: [{ name: "b", type: "BYTES" }] },
    ],
  },
  tableConstraints: { primaryKey: { columns: ["id"] } },
});

describe("a TableSchema message gives the schema that the table resource gives", () => {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.TableSchema");
  const received = type.decode(type.encode(type.fromObject(message)).finish());

  test.each([
    [
      "names of enums, int64 as text, absent fields filled",
      { enums: String, longs: String, defaults: true, arrays: true },
    ],
    ["numbers of enums, int64 as numbers, absent fields absent", { longs: Number }],
  ])("with %s", (_form, options) => {
    expect(parseStorageSchema(type.toObject(received, options), ["id"])).toEqual(sameByRest);
  });

  test("for every type by its number", () => {
    const names = type.root.lookupEnum("google.cloud.bigquery.storage.v1.TableFieldSchema.Type").values;
    const scalars = Object.entries(names).filter(([name]) => !["TYPE_UNSPECIFIED", "STRUCT", "RANGE"].includes(name));
    expect(scalars).toHaveLength(14);
    for (const [name, number] of scalars) {
      const { columns } = parseStorageSchema({ fields: [{ name: "c", type: number, mode: 3 }] }, []);
      expect(columns[0]).toMatchObject({ type: name === "DOUBLE" ? "FLOAT64" : name, mode: "REPEATED" });
    }
  });

  test("a type that is not known is named as a fault", () => {
    expect(() => parseStorageSchema({ fields: [{ name: "c", type: 99 }] }, [])).toThrow("c: the type is none");
    expect(() => parseStorageSchema({}, [])).toThrow("no columns");
  });
});
