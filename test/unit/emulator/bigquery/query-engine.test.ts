import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AppendConnection } from "../../../../src/emulator/bigquery/append-connection.ts";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { plainRow, type PlainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import { QueryEngine } from "../../../../src/emulator/bigquery/query-engine.ts";
import { newTable, patchedTable } from "../../../../src/emulator/bigquery/table-resource.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { appendRequest, bytes, descriptor, field, protoData } from "./writer.ts";

const fields = [{ name: "id", type: "INT64" }];

let catalog: Catalog;
let engine: QueryEngine;

beforeEach(() => {
  catalog = new Catalog();
  catalog.createDataset({ project: "my-project", id: "d", settings: {}, createdMs: 0 });
  engine = new QueryEngine(catalog);
});

afterEach(() => engine.close());

function create(table: string): void {
  catalog.createTable({ project: "my-project", dataset: "d", table }, newTable({ schema: { fields } }, 0));
}

/** Appends rows whose ids are below 128. */
function append(table: string, ids: readonly number[]): void {
  const connection = new AppendConnection(catalog, new VirtualClock(), { maxRequestBytes: 100_000 });
  const rows = ids.map((id) => bytes(`08 ${id.toString(16).padStart(2, "0")}`));
  const writeStream = `projects/my-project/datasets/d/tables/${table}/_default`;
  const protoRows = protoData(rows, descriptor([field("id", 1, "int64")]));
  expect(connection.append(parseAppendRequest(appendRequest({ writeStream, protoRows }))).refusal).toBeUndefined();
}

async function query(sql: string, dataset?: string): Promise<PlainRow[]> {
  const defaultDataset = dataset === undefined ? undefined : { project: "my-project", dataset };
  const { columns, rows } = await engine.run({ sql, project: "my-project", defaultDataset, parameters: [] });
  return rows.map((cells) => plainRow(columns, cells));
}

describe("copies of tables", () => {
  test("follow what is appended, over more than one chunk", async () => {
    create("t");
    const ids = Array.from({ length: 5000 }, (_, row) => row % 100);
    append("t", ids);
    expect(await query("SELECT COUNT(*) AS n, SUM(id) AS s FROM `my-project.d.t`")).toEqual([
      { n: "5000", s: "247500" },
    ]);
    append("t", [100]);
    expect(await query("SELECT COUNT(*) AS n, MAX(id) AS m FROM d.t")).toEqual([{ n: "5001", m: "100" }]);
  });

  test("follow a schema that grows", async () => {
    create("t");
    append("t", [1]);
    await query("SELECT * FROM d.t");
    const table = catalog.table({ project: "my-project", dataset: "d", table: "t" });
    const grown = { schema: { fields: [...fields, { name: "tags", type: "STRING", mode: "REPEATED" }] } };
    catalog.changeTable(table, patchedTable(table.name, table.state, grown, 0));
    expect(await query("SELECT * FROM d.t")).toEqual([{ id: "1", tags: [] }]);
  });

  test("go with their tables, and a table of the same name begins anew", async () => {
    create("t");
    append("t", [1]);
    expect(await query("SELECT * FROM t", "d")).toEqual([{ id: "1" }]);
    catalog.deleteTable({ project: "my-project", dataset: "d", table: "t" });
    await expect(query("SELECT * FROM t", "d")).rejects.toThrow("t does not exist");
    create("t");
    append("t", [2]);
    expect(await query("SELECT * FROM t", "d")).toEqual([{ id: "2" }]);
  });

  test("whose names differ by case alone are kept apart", async () => {
    create("t");
    create("T");
    append("t", [1]);
    append("T", [2]);
    expect(await query("SELECT * FROM d.t")).toEqual([{ id: "1" }]);
    expect(await query("SELECT * FROM `my-project.d.T`")).toEqual([{ id: "2" }]);
    await expect(query("SELECT * FROM d.t, `d.T`")).rejects.toThrow("differ by case alone");
  });
});

test("names that a query defines itself are no tables", async () => {
  expect(await query("WITH t AS (SELECT 7 AS id) SELECT * FROM t")).toEqual([{ id: "7" }]);
});

describe("types of results", () => {
  test.each([
    ["1::UTINYINT", "1"],
    ["1.5::DECIMAL(3,1)", "1.5"],
    ["1::DECIMAL(38,0)", "1"],
    ["'a'::BLOB", "YQ=="],
    ["uuid '00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001"],
    ["NULL", null],
    ["[1, 2]", ["1", "2"]],
    ["{'a': [{'b': DATE '2024-01-01'}]}", { a: [{ b: "2024-01-01" }] }],
    ["TIMESTAMP '2024-01-01 00:00:00'", "2024-01-01T00:00:00.000000"],
    ["TIMESTAMPTZ '2024-01-01 00:00:00+01'", "2023-12-31T23:00:00.000000Z"],
    ["INTERVAL '14' MONTH", "1-2 0 0:0:0"],
    ["'{\"a\":1}'::JSON", '{"a":1}'],
  ])("%s", async (expression, value) => {
    expect(await query(`SELECT ${expression} AS v`)).toEqual([{ v: value }]);
  });

  test("a sum of INT64 is INT64, and overflows as one", async () => {
    expect(await query("SELECT SUM(x) AS v FROM (VALUES (1), (2)) AS r(x)")).toEqual([{ v: "3" }]);
    const sum = query("SELECT SUM(x) AS v FROM (VALUES (9223372036854775807), (1)) AS r(x)");
    await expect(sum).rejects.toThrow("int64 overflow in column v");
  });

  test.each(["[[1]]", "MAP {'a': 1}", "'1'::BIT"])("%s has no type of BigQuery", async (expression) => {
    await expect(query(`SELECT ${expression} AS v`)).rejects.toMatchObject({ status: 400, reason: "invalidQuery" });
  });
});

test("a refused query leaves the engine usable", async () => {
  await expect(query("SELEC")).rejects.toMatchObject({ status: 400 });
  await expect(query("SELECT * FROM d.nope")).rejects.toMatchObject({ status: 404 });
  expect(await query("SELECT 1 AS one")).toEqual([{ one: "1" }]);
});

test("without DuckDB a query says what to install", async () => {
  vi.doMock("@duckdb/node-api", () => {
    throw new Error("Cannot find package");
  });
  try {
    await expect(query("SELECT 1")).rejects.toMatchObject({
      status: 501,
      message: "The embedded BigQuery needs DuckDB to answer queries: npm install @duckdb/node-api",
    });
  } finally {
    vi.doUnmock("@duckdb/node-api");
  }
});
