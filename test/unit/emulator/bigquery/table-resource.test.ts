import { describe, expect, test } from "vitest";
import { StoredTable } from "../../../../src/emulator/bigquery/stored-table.ts";
import {
  etagOf,
  newTable,
  patchedTable,
  replacedTable,
  tableResource,
} from "../../../../src/emulator/bigquery/table-resource.ts";

const name = { project: "p", dataset: "d", table: "t" };
const schema = { fields: [{ name: "id", type: "INTEGER", mode: "REQUIRED" }] };

test("the resource has what the client set and what the service adds", () => {
  const body = { schema, labels: { a: "b" }, kind: "ignored", numRows: "9", clustering: { fields: ["id"] } };
  expect(tableResource(new StoredTable(name, newTable(body, 1700000000000)))).toMatchObject({
    kind: "bigquery#table",
    id: "p:d.t",
    tableReference: { projectId: "p", datasetId: "d", tableId: "t" },
    type: "TABLE",
    schema,
    labels: { a: "b" },
    clustering: { fields: ["id"] },
    numRows: "0",
    creationTime: "1700000000000",
    lastModifiedTime: "1700000000000",
  });
});

describe("changes", () => {
  const before = newTable({ schema, labels: { a: "b" }, description: "old" }, 1);

  test("patch replaces what it names, takes away what it names null, and leaves the rest", () => {
    const after = patchedTable(name, before, { description: "new", labels: null }, 2);
    expect(after).toMatchObject({ settings: { description: "new" }, createdMs: 1, modifiedMs: 2 });
    expect(after.settings).not.toHaveProperty("labels");
    expect(after.columns).toBe(before.columns);
  });

  test("update replaces all settings", () => {
    expect(replacedTable(name, before, { schema, description: "new" }, 2).settings).toEqual({ description: "new" });
  });

  test("the etag follows what a client can set", () => {
    const etag = (state: typeof before): string => etagOf(new StoredTable(name, state));
    expect(etag(patchedTable(name, before, {}, 99))).toBe(etag(before));
    expect(etag(patchedTable(name, before, { description: "new" }, 1))).not.toBe(etag(before));
    const fields = [...schema.fields, { name: "n", type: "STRING" }];
    expect(etag(patchedTable(name, before, { schema: { fields } }, 1))).not.toBe(etag(before));
  });
});

describe("primary keys", () => {
  const withKey = (columns: unknown): object => ({
    schema: { fields: [...schema.fields, { name: "tags", type: "STRING", mode: "REPEATED" }] },
    tableConstraints: { primaryKey: { columns } },
  });

  test("one that is right is given back", () => {
    const table = new StoredTable(name, newTable({ ...withKey(["ID"]) }, 0));
    expect(tableResource(table)).toMatchObject({ tableConstraints: { primaryKey: { columns: ["ID"] } } });
  });

  test.each([
    [["nope"], "lacks: nope"],
    [["tags"], "cannot be in a primary key"],
    [[], "names no columns"],
    [Array.from({ length: 17 }, () => "id"), "more than 16"],
  ])("%j is refused", (columns, words) => {
    expect(() => newTable({ ...withKey(columns) }, 0)).toThrow(words);
  });
});

test("views and external tables are refused", () => {
  expect(() => newTable({ view: { query: "SELECT 1" } }, 0)).toThrow("holds tables only, none with view");
});
