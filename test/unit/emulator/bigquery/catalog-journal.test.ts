import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withoutColumn } from "../../../../src/emulator/bigquery/alter-table.ts";
import { AppendConnection } from "../../../../src/emulator/bigquery/append-connection.ts";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { keepCatalog } from "../../../../src/emulator/bigquery/catalog-journal.ts";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { plainRow, type PlainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import { newTable, patchedTable, tableResource } from "../../../../src/emulator/bigquery/table-resource.ts";
import { WriteStreams } from "../../../../src/emulator/bigquery/write-streams.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { appendRequest, bytes, descriptor, field, protoData } from "./writer.ts";

const name = { project: "p", dataset: "d", table: "t" };
const fields = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "uuid", type: "STRING", defaultValueExpression: "GENERATE_UUID()" },
];

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-journal-"));
  path = join(folder, "data");
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Works on the catalog of the file as one process would. */
function session<T>(work: (catalog: Catalog) => T): T {
  const catalog = new Catalog();
  const close = keepCatalog(catalog, path);
  try {
    return work(catalog);
  } finally {
    close();
  }
}

const defaultStream = "projects/p/datasets/d/tables/t/streams/_default";

function append(catalog: Catalog, ids: readonly number[], stream = defaultStream): void {
  const connection = new AppendConnection(catalog, new VirtualClock(), { maxRequestBytes: 10_000 });
  const rows = ids.map((id) => bytes(`08 ${id.toString(16).padStart(2, "0")}`));
  const protoRows = protoData(rows, descriptor([field("id", 1, "int64")]));
  const { refusal } = connection.append(parseAppendRequest(appendRequest({ writeStream: stream, protoRows })));
  expect(refusal).toBeUndefined();
}

function rows(catalog: Catalog): PlainRow[] {
  const table = catalog.table(name);
  return Array.from(table.rows(), (cells) => plainRow(table.state.columns, cells));
}

function createTable(catalog: Catalog): void {
  catalog.createDataset({ project: "p", id: "d", settings: { description: "kept" }, createdMs: 5 });
  catalog.createTable(name, newTable({ schema: { fields }, labels: { a: "b" } }, 7));
}

test("datasets, tables, changes and rows are there at the next start, and the one after", () => {
  const before = session((catalog) => {
    createTable(catalog);
    append(catalog, [1, 2]);
    const table = catalog.table(name);
    const grown = { schema: { fields: [...fields, { name: "more", type: "STRING" }] } };
    catalog.changeTable(table, patchedTable(name, table.state, grown, 9));
    append(catalog, [3]);
    return { rows: rows(catalog), resource: tableResource(table) };
  });
  expect(before.rows.map(({ id }) => id)).toEqual(["1", "2", "3"]);
  const after = session((catalog) => {
    expect(catalog.dataset("p", "d").settings).toEqual({ description: "kept" });
    const found = { rows: rows(catalog), resource: tableResource(catalog.table(name)) };
    append(catalog, [4]);
    return found;
  });
  expect(after).toEqual(before);
  expect(session(rows).map(({ id }) => id)).toEqual(["1", "2", "3", "4"]);
});

test("what was deleted stays deleted", () => {
  session((catalog) => {
    createTable(catalog);
    append(catalog, [1]);
    catalog.deleteTable(name);
    catalog.createTable(name, newTable({ schema: { fields } }, 7));
    append(catalog, [2]);
  });
  expect(session(rows).map(({ id }) => id)).toEqual(["2"]);
  session((catalog) => catalog.deleteDataset("p", "d", true));
  expect(session((catalog) => catalog.datasets("p"))).toEqual([]);
});

test("a record that was cut short is left out, and the next one is written in its place", () => {
  session((catalog) => {
    createTable(catalog);
    append(catalog, [1]);
    append(catalog, [2]);
  });
  truncateSync(path, readFileSync(path).length - 1);
  session((catalog) => {
    expect(rows(catalog).map(({ id }) => id)).toEqual(["1"]);
    append(catalog, [3]);
  });
  expect(session(rows).map(({ id }) => id)).toEqual(["1", "3"]);
  appendFileSync(path, Buffer.alloc(20, 1));
  expect(session(rows).map(({ id }) => id)).toEqual(["1", "3"]);
});

test("a file of another kind is refused and not touched", () => {
  writeFileSync(path, "something else");
  expect(() => session(() => undefined)).toThrow("no data file of the embedded BigQuery");
  expect(readFileSync(path, "utf8")).toBe("something else");
});

test("write streams are there at the next start: offsets, rows that wait, what was finalized, flushed and committed", () => {
  const parent = "projects/p/datasets/d/tables/t";
  const nowMs = new VirtualClock().now();
  const streamsOf = (catalog: Catalog): WriteStreams => new WriteStreams(catalog, () => nowMs);
  const create = (catalog: Catalog, type: string): string =>
    (streamsOf(catalog).create({ parent, writeStream: { type } }) as { name: string }).name;
  const names = session((catalog) => {
    createTable(catalog);
    const names = { committed: create(catalog, "COMMITTED"), buffered: create(catalog, "BUFFERED") };
    const [first, second] = [create(catalog, "PENDING"), create(catalog, "PENDING")];
    append(catalog, [1], names.committed);
    append(catalog, [2, 3, 4], names.buffered);
    streamsOf(catalog).flush({ writeStream: names.buffered, offset: { value: "1" } });
    append(catalog, [5], first);
    append(catalog, [6], second);
    streamsOf(catalog).finalize({ name: first });
    streamsOf(catalog).finalize({ name: second });
    streamsOf(catalog).batchCommit({ parent, writeStreams: [first] });
    return { ...names, first, second };
  });
  const found = session((catalog) => {
    const before = rows(catalog).map(({ id }) => id);
    const table = catalog.table(name);
    const counts = Object.values(names).map((stream) => table.streams.get(stream.split("/").at(-1)!)?.rowCount);
    append(catalog, [7], names.committed);
    streamsOf(catalog).flush({ writeStream: names.buffered, offset: { value: "2" } });
    const commit = streamsOf(catalog).batchCommit({ parent, writeStreams: [names.first] });
    streamsOf(catalog).batchCommit({ parent, writeStreams: [names.second] });
    return { before, counts, commit };
  });
  expect(found.before).toEqual(["1", "2", "3", "5"]);
  expect(found.counts).toEqual([1, 3, 1, 1]);
  expect(found.commit).toMatchObject({ streamErrors: [{ code: "STREAM_ALREADY_COMMITTED" }] });
  expect(session(rows).map(({ id }) => id)).toEqual(["1", "2", "3", "5", "7", "4", "6"]);
});

test("rows for columns that are no more, because they came before the change was known, are read as they were", () => {
  const clock = new VirtualClock();
  const schemaDelayMs = 1000;
  const before = session((catalog) => {
    createTable(catalog);
    const table = catalog.table(name);
    catalog.changeTable(table, withoutColumn(table.state, "uuid", clock.now()));
    const connection = new AppendConnection(catalog, clock, { maxRequestBytes: 10_000, schemaDelayMs });
    const withUuid = descriptor([field("id", 1, "int64"), field("uuid", 2, "string")]);
    const protoRows = protoData([bytes("08 01 12 01 78")], withUuid);
    const request = parseAppendRequest(appendRequest({ writeStream: defaultStream, protoRows }));
    expect(connection.append(request).refusal).toBeUndefined();
    return rows(catalog);
  });
  expect(before).toEqual([{ id: "1" }]);
  expect(session(rows)).toEqual(before);
});

test("what was cleared is gone from the file, and what came after is there", () => {
  session((catalog) => {
    createTable(catalog);
    append(catalog, [1, 2]);
    catalog.clear();
    expect(catalog.findTable(name)).toBeUndefined();
    createTable(catalog);
    append(catalog, [3]);
  });
  expect(session(rows).map(({ id }) => id)).toEqual(["3"]);
});
