import { beforeEach, describe, expect, test } from "vitest";
import { AppendConnection, type AppendOutcome } from "../../../../src/emulator/bigquery/append-connection.ts";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { plainRow, type PlainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import { RateLimit } from "../../../../src/emulator/bigquery/rate-limit.ts";
import type { StoredTable } from "../../../../src/emulator/bigquery/stored-table.ts";
import { newTable, patchedTable } from "../../../../src/emulator/bigquery/table-resource.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { appendRequest, bytes, descriptor, field, protoData } from "./writer.ts";

const stream = "projects/p/datasets/d/tables/t/streams/_default";
const other = "projects/p/datasets/d/tables/other/streams/_default";
const created = "projects/p/datasets/d/tables/t/streams/s1";

const fields = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "made", type: "TIMESTAMP", defaultValueExpression: "CURRENT_TIMESTAMP()" },
  { name: "note", type: "STRING", defaultValueExpression: "'none'" },
];
const idAndNote = descriptor([field("id", 1, "int64"), field("note", 2, "string")]);
const idAlone = descriptor([field("id", 1, "int64")]);

/** Rows {id: 1}, {id: 2, note: "x"} and one without its required value. */
const one = bytes("08 01");
const two = bytes("08 02 12 01 78");
const bad = bytes("12 01 78");

let catalog: Catalog;
let table: StoredTable;
let connection: AppendConnection;
let clock: VirtualClock;

beforeEach(() => {
  catalog = new Catalog();
  catalog.createDataset({ project: "p", id: "d", settings: {}, createdMs: 0 });
  table = catalog.createTable({ project: "p", dataset: "d", table: "t" }, newTable({ schema: { fields } }, 0));
  catalog.createTable({ project: "p", dataset: "d", table: "other" }, newTable({ schema: { fields } }, 0));
  clock = new VirtualClock(1_704_067_200_000);
  connection = new AppendConnection(catalog, clock, { maxRequestBytes: 1000 });
});

function append(message: object, scripted?: { index: number; message: string }[]): AppendOutcome {
  return connection.append(parseAppendRequest(appendRequest(message)), scripted);
}

function rows(stored = table): PlainRow[] {
  return Array.from(stored.rows(), (cells) => plainRow(stored.state.columns, cells));
}

function refusal(outcome: AppendOutcome): string {
  return `${outcome.refusal?.status}: ${outcome.refusal?.message}`;
}

describe("rows", () => {
  test("are in the table when the answer has no error; the stream is named in full", () => {
    const outcome = append({
      writeStream: "projects/p/datasets/d/tables/t/_default",
      protoRows: protoData([one, two], idAndNote),
    });
    expect(outcome).toMatchObject({ stream, refusal: undefined, rowProblems: [] });
    expect(rows().map(({ id, note }) => [id, note])).toEqual([
      ["1", null],
      ["2", "x"],
    ]);
  });

  test("one bad row refuses them all, and every bad one is named", () => {
    const outcome = append({ writeStream: stream, protoRows: protoData([one, bad, two, bad], idAndNote) });
    expect(refusal(outcome)).toContain("INVALID_ARGUMENT: Errors found while processing rows");
    expect(outcome.rowProblems).toEqual([
      { index: 1, message: "Required value is missing on field id" },
      { index: 3, message: "Required value is missing on field id" },
    ]);
    expect(table.rowCount).toBe(0);
  });

  test("scripted problems are added, for rows that there are", () => {
    const scripted = [
      { index: 0, message: "scripted" },
      { index: 9, message: "scripted" },
    ];
    const outcome = append({ writeStream: stream, protoRows: protoData([one, bad], idAndNote) }, scripted);
    expect(outcome.rowProblems.map(({ index }) => index)).toEqual([0, 1]);
    expect(append({ protoRows: protoData([one]) }, [{ index: 9, message: "scripted" }]).refusal).toBeUndefined();
  });

  test("the table keeps rows of its own, whatever becomes of the request's bytes", () => {
    const request = appendRequest({ writeStream: stream, protoRows: protoData([two], idAndNote) });
    connection.append(parseAppendRequest(request));
    request.fill(0);
    expect(rows()[0]).toMatchObject({ id: "2", note: "x" });
  });
});

describe("what a connection remembers", () => {
  test("stream and schema need no repeating", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAndNote) });
    expect(append({ protoRows: protoData([two]) }).refusal).toBeUndefined();
    expect(table.rowCount).toBe(2);
  });

  test("the first request needs both", () => {
    expect(refusal(append({ protoRows: protoData([one], idAndNote) }))).toContain("write_stream must be specified");
    expect(refusal(append({ writeStream: stream, protoRows: protoData([one]) }))).toContain("needs writer_schema");
  });

  test("another table needs its schema, also on the way back; from then on every request names its stream", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAndNote) });
    expect(refusal(append({ writeStream: other, protoRows: protoData([one]) }))).toContain("needs writer_schema");
    expect(append({ writeStream: other, protoRows: protoData([one], idAlone) }).refusal).toBeUndefined();
    expect(refusal(append({ writeStream: stream, protoRows: protoData([one]) }))).toContain("needs writer_schema");
    expect(refusal(append({ protoRows: protoData([one]) }))).toContain("write_stream must be specified");
    expect(append({ writeStream: other, protoRows: protoData([one]) }).refusal).toBeUndefined();
  });

  test("a schema may change in-band", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAlone) });
    expect(append({ writeStream: stream, protoRows: protoData([two], idAndNote) }).refusal).toBeUndefined();
    expect(rows().map(({ note }) => note)).toEqual(["none", "x"]);
  });

  test("a refusal leaves it usable", () => {
    append({ writeStream: stream, protoRows: protoData([bad], idAndNote) });
    expect(append({ protoRows: protoData([one]) }).refusal).toBeUndefined();
  });
});

describe("refusals of whole requests", () => {
  test.each([
    ["no rows", { protoRows: protoData([], idAlone) }, "INVALID_ARGUMENT: Rows must be specified"],
    ["an offset", { offset: { value: "0" }, protoRows: protoData([one], idAlone) }, "INVALID_ARGUMENT: An offset"],
    ["Arrow rows", { arrowRows: {} }, "UNIMPLEMENTED"],
    [
      "an unspecified interpretation",
      { protoRows: protoData([one], idAlone), missingValueInterpretations: { nope: 1 } },
      "names no column of the table: nope",
    ],
    ["too many bytes", { traceId: "x".repeat(1000), protoRows: protoData([one], idAlone) }, "limit 1000"],
    [
      "an extra field",
      { protoRows: protoData([one], descriptor([field("id", 1, "int64"), field("more", 2, "string")])) },
      "more fields than BigQuery schema",
    ],
  ])("%s", (_, message, words) => {
    expect(refusal(append({ writeStream: stream, ...message }))).toContain(words);
    expect(table.rowCount).toBe(0);
  });

  test("a stream that nobody created, or that is none", () => {
    const unknown = append({ writeStream: created, protoRows: protoData([one], idAlone) });
    expect(unknown.refusal?.status).toBe("NOT_FOUND");
    expect(unknown.refusal?.storageFault).toEqual({ code: "STREAM_NOT_FOUND", entity: created });
    expect(refusal(append({ writeStream: "nonsense", protoRows: protoData([one], idAlone) }))).toContain("stream name");
  });

  test("a table that is not there, or no longer", () => {
    const gone = "projects/p/datasets/d/tables/gone/streams/_default";
    const outcome = append({ writeStream: gone, protoRows: protoData([one], idAlone) });
    expect(outcome.refusal?.status).toBe("NOT_FOUND");
    expect(outcome.refusal?.storageFault).toEqual({ code: "TABLE_NOT_FOUND", entity: gone });
    append({ writeStream: stream, protoRows: protoData([one], idAlone) });
    catalog.deleteTable(table.name);
    expect(append({ protoRows: protoData([one]) }).refusal?.status).toBe("NOT_FOUND");
  });
});

describe("missing values", () => {
  const now = "2024-01-01T00:00:00.000000Z";

  test("a column without a field takes its default, one without a value is NULL", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAndNote) });
    expect(rows()).toEqual([{ id: "1", made: now, note: null }]);
  });

  test("DEFAULT_VALUE for all, kept by the connection; a word for one column counts for its request", () => {
    const byDefault = { defaultMissingValueInterpretation: "DEFAULT_VALUE" };
    append({ writeStream: stream, ...byDefault, protoRows: protoData([one], idAndNote) });
    append({ missingValueInterpretations: { NOTE: 1 }, protoRows: protoData([one]) });
    append({ protoRows: protoData([one]) });
    expect(rows().map(({ note }) => note)).toEqual(["none", null, "none"]);
  });

  test("NULL_VALUE is about values that a row lacks: a column without a field takes its default all the same", () => {
    const byNull = { defaultMissingValueInterpretation: "NULL_VALUE" };
    const message = { writeStream: stream, missingValueInterpretations: { made: 1, note: 1 }, ...byNull };
    append({ ...message, protoRows: protoData([one], idAlone) });
    append({ ...message, protoRows: protoData([one], idAndNote) });
    expect(rows()).toEqual([
      { id: "1", made: now, note: "none" },
      { id: "1", made: now, note: null },
    ]);
  });
});

describe("a schema that changes", () => {
  const grown = { schema: { fields: [...fields, { name: "more", type: "STRING" }] } };

  test("is told once, with the first answer after it, and rows of the old schema go on", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAlone) });
    catalog.changeTable(table, patchedTable(table.name, table.state, grown, 0));
    const told = append({ writeStream: stream, protoRows: protoData([one], idAlone) });
    expect(told.updatedColumns?.map(({ name }) => name)).toEqual(["id", "made", "note", "more"]);
    expect(append({ protoRows: protoData([one]) }).updatedColumns).toBeUndefined();
    expect(rows().map(({ more }) => more)).toEqual([null, null, null]);
  });

  test("is not told to a connection that began after it", () => {
    catalog.changeTable(table, patchedTable(table.name, table.state, grown, 0));
    expect(append({ writeStream: stream, protoRows: protoData([one], idAlone) }).updatedColumns).toBeUndefined();
  });

  test("a change of labels is none, nor is the schema that it has already", () => {
    append({ writeStream: stream, protoRows: protoData([one], idAlone) });
    catalog.changeTable(table, patchedTable(table.name, table.state, { labels: { a: "b" }, schema: { fields } }, 0));
    expect(append({ protoRows: protoData([one]) }).updatedColumns).toBeUndefined();
  });
});

describe("changes that reach rows late", () => {
  const delayMs = 90_000;
  const grown = { schema: { fields: [...fields, { name: "more", type: "STRING" }] } };
  const idAndMore = descriptor([field("id", 1, "int64"), field("more", 2, "string")]);

  function open(settings: object): (message: object) => AppendOutcome {
    const late = new AppendConnection(catalog, clock, { maxRequestBytes: 1000, ...settings });
    return (message) => late.append(parseAppendRequest(appendRequest({ writeStream: stream, ...message })));
  }

  function grow(): void {
    catalog.changeTable(table, patchedTable(table.name, table.state, grown, clock.now()));
  }

  test("a new column is an extra field until the delay is over, then it is told and taken", async () => {
    const send = open({ schemaDelayMs: delayMs });
    expect(send({ protoRows: protoData([one], idAlone) }).updatedColumns).toBeUndefined();
    grow();
    await clock.advance(delayMs - 1);
    const early = send({ protoRows: protoData([two], idAndMore) });
    expect(early.refusal?.storageFault?.code).toBe("SCHEMA_MISMATCH_EXTRA_FIELDS");
    expect(send({ protoRows: protoData([one], idAlone) }).updatedColumns).toBeUndefined();
    await clock.advance(1);
    expect(send({ protoRows: protoData([two], idAndMore) }).refusal).toBeUndefined();
    expect(rows().map(({ id, more }) => [id, more])).toEqual([
      ["1", null],
      ["1", null],
      ["2", "x"],
    ]);
  });

  test("is told on connections that were open before the change, and on no other", async () => {
    const [before, after] = [open({ schemaDelayMs: delayMs }), open({ schemaDelayMs: delayMs })];
    before({ protoRows: protoData([one], idAlone) });
    grow();
    after({ protoRows: protoData([one], idAlone) });
    await clock.advance(delayMs);
    const message = { protoRows: protoData([one], idAlone) };
    expect(
      [before(message), after(message), before(message)].map(({ updatedColumns }) => updatedColumns?.length),
    ).toEqual([4, undefined, undefined]);
  });

  test("a table that takes the place of a deleted one is not found for a while; one that is new is found at once", async () => {
    const send = open({ recreationDelayMs: delayMs });
    expect(send({ protoRows: protoData([one], idAlone) }).refusal).toBeUndefined();
    catalog.deleteTable(table.name);
    table = catalog.createTable(table.name, newTable({ schema: { fields } }, clock.now()));
    await clock.advance(delayMs - 1);
    expect(send({ protoRows: protoData([two], idAndNote) }).refusal?.storageFault?.code).toBe("TABLE_NOT_FOUND");
    await clock.advance(1);
    expect(send({ protoRows: protoData([two], idAndNote) }).refusal).toBeUndefined();
    expect(rows().map(({ id }) => id)).toEqual(["2"]);
  });
});

describe("throughput", () => {
  test("beyond it a request is refused in its answer, and the connection goes on", async () => {
    const protoRows = protoData([one], idAlone);
    const bytes = appendRequest({ writeStream: stream, protoRows }).length;
    const throughput = new RateLimit(clock, bytes * 2, 1000);
    const limited = new AppendConnection(catalog, clock, { maxRequestBytes: 1000, throughput });
    const send = (): AppendOutcome =>
      limited.append(parseAppendRequest(appendRequest({ writeStream: stream, protoRows })));
    expect([send(), send(), send()].map(refusal)).toEqual([
      "undefined: undefined",
      "undefined: undefined",
      "RESOURCE_EXHAUSTED: Exceeds 'AppendRows throughput' quota. Try again later",
    ]);
    await clock.advance(500);
    expect(send().refusal).toBeUndefined();
  });
});
