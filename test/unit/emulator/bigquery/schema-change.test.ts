import { describe, expect, test } from "vitest";
import { changedColumns } from "../../../../src/emulator/bigquery/schema-change.ts";
import { columns } from "./writer.ts";

const before = columns(
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING", maxLength: "10" },
  { name: "part", type: "RECORD", fields: [{ name: "x", type: "DATE" }] },
);
const [id, name, part] = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING", maxLength: "10" },
  { name: "part", type: "RECORD", fields: [{ name: "x", type: "DATE" }] },
];

test("columns are added behind those that are there, wherever the new schema has them", () => {
  const wanted = columns({ name: "new", type: "STRING", mode: "REPEATED" }, part, name, id);
  expect(changedColumns("p:d.t", before, wanted).map((column) => column.name)).toEqual(["id", "name", "part", "new"]);
});

test("inside a STRUCT likewise", () => {
  const grown = {
    name: "PART",
    type: "RECORD",
    fields: [
      { name: "y", type: "STRING" },
      { name: "x", type: "DATE" },
    ],
  };
  const [, , after] = changedColumns("p:d.t", before, columns(id, name, grown));
  expect(after?.name).toBe("part");
  expect(after?.fields.map((column) => column.name)).toEqual(["x", "y"]);
});

test("REQUIRED may be relaxed", () => {
  const [after] = changedColumns("p:d.t", before, columns({ name: "id", type: "INT64" }, name, part));
  expect(after?.mode).toBe("NULLABLE");
});

describe("anything else is refused", () => {
  test.each([
    ["a column less", [id, part], "Field name is missing in new schema"],
    ["another type", [{ name: "id", type: "STRING", mode: "REQUIRED" }, name, part], "type from INT64 to STRING"],
    ["NULLABLE made REQUIRED", [id, { ...name, mode: "REQUIRED" }, part], "mode from NULLABLE to REQUIRED"],
    ["NULLABLE made REPEATED", [id, { ...name, mode: "REPEATED" }, part], "mode from NULLABLE to REPEATED"],
    ["another length", [id, { ...name, maxLength: "20" }, part], "changed its maxLength"],
    ["a new REQUIRED column", [id, name, part, { name: "n", type: "INT64", mode: "REQUIRED" }], "Cannot add required"],
    [
      "another type inside a STRUCT",
      [id, name, { name: "part", type: "RECORD", fields: [{ name: "x", type: "TIME" }] }],
      "Field part.x has changed type",
    ],
  ])("%s", (_, wanted, words) => {
    expect(() => changedColumns("p:d.t", before, columns(...wanted))).toThrow(words);
  });
});
