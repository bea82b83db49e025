import { beforeEach, expect, test } from "vitest";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { newTable } from "../../../../src/emulator/bigquery/table-resource.ts";

const dataset = { project: "p", id: "d", settings: {}, createdMs: 0 };
const name = { project: "p", dataset: "d", table: "t" };
const state = newTable({ schema: { fields: [{ name: "id", type: "INT64" }] } }, 0);

let catalog: Catalog;

beforeEach(() => {
  catalog = new Catalog();
  catalog.createDataset(dataset);
});

test("what is there twice or not at all is refused as BigQuery does", () => {
  catalog.createTable(name, state);
  const thrown = [
    () => catalog.createDataset(dataset),
    () => catalog.createTable(name, state),
    () => catalog.dataset("p", "nope"),
    () => catalog.dataset("other", "d"),
    () => catalog.table({ ...name, table: "T" }),
    () => catalog.createTable({ ...name, dataset: "nope" }, state),
    () => catalog.deleteTable({ ...name, table: "nope" }),
  ].map((act) => {
    try {
      act();
      return "nothing";
    } catch (error) {
      return `${(error as { status: number }).status} ${(error as Error).message}`;
    }
  });
  expect(thrown).toEqual([
    "409 Already Exists: Dataset p:d",
    "409 Already Exists: Table p:d.t",
    "404 Not found: Dataset p:nope",
    "404 Not found: Dataset other:d",
    "404 Not found: Table p:d.T",
    "404 Not found: Dataset p:nope",
    "404 Not found: Table p:d.nope",
  ]);
});

test("names that BigQuery does not take", () => {
  expect(() => catalog.createDataset({ ...dataset, id: "a-b" })).toThrow("Invalid dataset ID");
  expect(() => catalog.createTable({ ...name, table: "a$b" }, state)).toThrow("Invalid table ID");
  expect(catalog.createTable({ ...name, table: "täble-1" }, state).name.table).toBe("täble-1");
});

test("a dataset goes with its tables only when that is said", () => {
  catalog.createTable(name, state);
  expect(() => catalog.deleteDataset("p", "d", false)).toThrow("still in use");
  catalog.deleteDataset("p", "d", true);
  expect(catalog.findTable(name)).toBeUndefined();
});

test("tables are listed by name, datasets as they were made", () => {
  catalog.createDataset({ ...dataset, id: "a" });
  for (const table of ["b", "c", "a"]) catalog.createTable({ ...name, table }, state);
  expect(catalog.tables("p", "d").map((table) => table.name.table)).toEqual(["a", "b", "c"]);
  expect(catalog.datasets("p").map(({ id }) => id)).toEqual(["d", "a"]);
});
