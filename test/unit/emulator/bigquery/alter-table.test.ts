import { beforeEach, describe, expect, test } from "vitest";
import { withColumnType, withoutColumn } from "../../../../src/emulator/bigquery/alter-table.ts";
import { AppendConnection } from "../../../../src/emulator/bigquery/append-connection.ts";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { plainRow, type PlainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import type { StoredTable } from "../../../../src/emulator/bigquery/stored-table.ts";
import { newTable, patchedTable } from "../../../../src/emulator/bigquery/table-resource.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { appendRequest, bytes, descriptor, field, protoData, repeated } from "./writer.ts";

const fields = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "counts", type: "INT64", mode: "REPEATED" },
  { name: "note", type: "STRING", maxLength: "5" },
];
const writerSchema = descriptor([
  field("id", 1, "int64"),
  field("counts", 2, "int64", repeated),
  field("note", 3, "string"),
]);

let catalog: Catalog;
let table: StoredTable;
let connection: AppendConnection;

beforeEach(() => {
  catalog = new Catalog();
  catalog.createDataset({ project: "p", id: "d", settings: {}, createdMs: 0 });
  table = catalog.createTable({ project: "p", dataset: "d", table: "t" }, newTable({ schema: { fields } }, 0));
  connection = new AppendConnection(catalog, new VirtualClock(), { maxRequestBytes: 10_000 });
});

/** Row {id: 7, counts: [1, 2], note: "x"}, unless other bytes are given. */
function append(schema = writerSchema, row = bytes("08 07 10 01 10 02 1a 01 78")): string {
  const writeStream = "projects/p/datasets/d/tables/t/streams/_default";
  const request = parseAppendRequest(appendRequest({ writeStream, protoRows: protoData([row], schema) }));
  const { refusal, rowProblems } = connection.append(request);
  return rowProblems[0]?.message ?? refusal?.storageFault?.code ?? refusal?.message ?? "taken";
}

function rows(): PlainRow[] {
  return Array.from(table.rows(), (cells) => plainRow(table.state.columns, cells));
}

describe("a column that is dropped", () => {
  test("takes its values along, and a new one of its name begins empty", () => {
    append();
    catalog.changeTable(table, withoutColumn(table.state, "COUNTS", 0));
    expect(rows()).toEqual([{ id: "7", note: "x" }]);
    catalog.changeTable(table, patchedTable(table.name, table.state, { schema: { fields } }, 0));
    append();
    expect(rows()).toEqual([
      { id: "7", note: "x", counts: [] },
      { id: "7", note: "x", counts: ["1", "2"] },
    ]);
  });

  test("is an extra field to those who go on writing it", () => {
    append();
    catalog.changeTable(table, withoutColumn(table.state, "note", 0));
    expect(append()).toBe("SCHEMA_MISMATCH_EXTRA_FIELDS");
    expect(append(descriptor([field("id", 1, "int64")]), bytes("08 01"))).toBe("taken");
  });

  test("must be there, and not be the last one or part of the key", () => {
    const tableConstraints = { primaryKey: { columns: ["id"] } };
    const keyed = newTable({ schema: { fields }, tableConstraints }, 0);
    expect(() => withoutColumn(keyed, "id", 0)).toThrow("Primary key names a column that the table lacks");
    expect(() => withoutColumn(keyed, "nope", 0)).toThrow("Column not found: nope");
    const single = newTable({ schema: { fields: [fields[0]] } }, 0);
    expect(() => withoutColumn(single, "id", 0)).toThrow("the only column");
  });
});

describe("a column that gets a wider type", () => {
  test.each([
    ["NUMERIC", "7"],
    ["BIGNUMERIC", "7"],
    ["FLOAT64", 7],
  ])("INT64 to %s keeps its values", (type, value) => {
    append();
    catalog.changeTable(table, withColumnType(table.state, { name: "id", type }, 0));
    catalog.changeTable(table, withColumnType(table.state, { name: "counts", type }, 0));
    expect(rows()[0]).toMatchObject({ id: value });
    expect(table.state.columns.map(({ mode }) => mode)).toEqual(["REQUIRED", "REPEATED", "NULLABLE"]);
  });

  test("and a wider one yet, over both steps; the fields of the old type still suit decimals, not floats", () => {
    append();
    catalog.changeTable(table, withColumnType(table.state, { name: "id", type: "NUMERIC" }, 0));
    append();
    catalog.changeTable(table, withColumnType(table.state, { name: "id", type: "BIGNUMERIC" }, 0));
    append();
    catalog.changeTable(table, withColumnType(table.state, { name: "id", type: "FLOAT64" }, 0));
    expect(append()).toContain("does not match the BigQuery column id: field type int64, column type FLOAT64");
    expect(rows().map(({ id }) => id)).toEqual([7, 7, 7]);
  });

  test("a longer STRING, and then one without a limit", () => {
    const long = bytes("08 07 1a 06 787878787878");
    expect(append(writerSchema, long)).toBe("STRING(5) has maximum length 5, got 6 on field note");
    catalog.changeTable(table, withColumnType(table.state, { name: "note", type: "STRING", maxLength: "6" }, 0));
    expect(append(writerSchema, long)).toBe("taken");
    catalog.changeTable(table, withColumnType(table.state, { name: "note", type: "STRING" }, 0));
    expect(rows()).toMatchObject([{ note: "xxxxxx" }]);
  });

  test.each([
    [{ name: "id", type: "STRING" }],
    [{ name: "id", type: "NUMERIC", precision: "5" }],
    [{ name: "note", type: "STRING", maxLength: "4" }],
    [{ name: "note", type: "BYTES" }],
    [{ name: "id", type: "INT64", mode: "REPEATED" }],
  ])("%o is not wider", (field) => {
    expect(() => withColumnType(table.state, field, 0)).toThrow("is assignable to the new type");
  });

  test("a decimal may get more digits, on neither side fewer", () => {
    const state = newTable({ schema: { fields: [{ name: "n", type: "NUMERIC", precision: "5", scale: "2" }] } }, 0);
    const change = (precision: number, scale: number): unknown =>
      withColumnType(state, { name: "n", type: "NUMERIC", precision, scale }, 0).columns[0]?.precision;
    expect([change(6, 3), change(6, 2)]).toEqual([6, 6]);
    expect(() => change(6, 4)).toThrow("is assignable");
    expect(() => change(5, 3)).toThrow("is assignable");
    expect(withColumnType(state, { name: "n", type: "NUMERIC" }, 0).columns[0]?.precision).toBeUndefined();
  });
});
