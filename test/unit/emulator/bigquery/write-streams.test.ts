import { beforeEach, describe, expect, test } from "vitest";
import { AppendConnection, type AppendOutcome } from "../../../../src/emulator/bigquery/append-connection.ts";
import { AppendRefusal } from "../../../../src/emulator/bigquery/append-refusal.ts";
import { parseAppendRequest } from "../../../../src/emulator/bigquery/append-request.ts";
import { Catalog } from "../../../../src/emulator/bigquery/catalog.ts";
import { plainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import type { StoredTable } from "../../../../src/emulator/bigquery/stored-table.ts";
import { newTable } from "../../../../src/emulator/bigquery/table-resource.ts";
import { WriteStreams } from "../../../../src/emulator/bigquery/write-streams.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";
import { appendRequest, descriptor, field, int64Row, protoData } from "./writer.ts";

const parent = "projects/p/datasets/d/tables/t";
const defaultStream = `${parent}/streams/_default`;
const startMs = 1_704_067_200_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const idAlone = descriptor([field("id", 1, "int64")]);

interface Described {
  readonly name: string;
  readonly commitTime?: object;
  readonly tableSchema?: { readonly fields: readonly { readonly name: string }[] };
}

let clock: VirtualClock;
let table: StoredTable;
let catalog: Catalog;
let streams: WriteStreams;

beforeEach(() => {
  clock = new VirtualClock(startMs);
  catalog = new Catalog();
  catalog.createDataset({ project: "p", id: "d", settings: {}, createdMs: 0 });
  const fields = [
    { name: "id", type: "INT64" },
    { name: "uuid", type: "STRING", defaultValueExpression: "GENERATE_UUID()" },
  ];
  table = catalog.createTable({ project: "p", dataset: "d", table: "t" }, newTable({ schema: { fields } }, startMs));
  streams = new WriteStreams(catalog, () => clock.now());
});

function create(type: string): string {
  return (streams.create({ parent, writeStream: { type } }) as Described).name;
}

/** Appends on a connection of its own. */
function append(stream: string, values: readonly number[], offset?: number): AppendOutcome {
  const connection = new AppendConnection(catalog, clock, { maxRequestBytes: 100_000 });
  const rows = protoData(
    values.map((value) => int64Row(BigInt(value))),
    idAlone,
  );
  const at = offset === undefined ? {} : { offset: { value: String(offset) } };
  return connection.append(parseAppendRequest(appendRequest({ writeStream: stream, protoRows: rows, ...at })));
}

/** Status, code and message of what an append or a method was refused for; "taken" when it was not. */
function refusal(act: () => unknown): string {
  try {
    const outcome = act() as Partial<AppendOutcome> | undefined;
    return outcome?.refusal ? words(outcome.refusal) : "taken";
  } catch (error) {
    if (error instanceof AppendRefusal) return words(error);
    throw error;
  }
}

function words({ status, storageFault, message }: AppendRefusal): string {
  return [status, storageFault?.code ?? "-", message.replace(/\. Entity: .*/, "")].join(" | ");
}

function commit(...names: readonly string[]): { commitTime?: object; streamErrors?: readonly { code: string }[] } {
  return streams.batchCommit({ parent, writeStreams: names });
}

function ids(): unknown[] {
  return Array.from(table.rows(), (cells) => plainRow(table.state.columns, cells)["id"]);
}

describe("a committed stream", () => {
  test("shows its rows at once, and tells where they begin", () => {
    const stream = create("COMMITTED");
    expect([append(stream, [1, 2], 0).offset, append(stream, [3], 2).offset, append(stream, [4]).offset]).toEqual([
      0, 2, 3,
    ]);
    expect(ids()).toEqual(["1", "2", "3", "4"]);
    expect(append(defaultStream, [5]).offset).toBeUndefined();
  });

  test("takes rows at its end only, whatever was refused before", () => {
    const stream = create("COMMITTED");
    append(stream, [1, 2, 3], 0);
    const beyond = "OUT_OF_RANGE | OFFSET_OUT_OF_RANGE | The offset is beyond stream, expected offset 3, received 4";
    const within = "ALREADY_EXISTS | OFFSET_ALREADY_EXISTS | The offset is within stream, expected offset 3, received";
    expect(refusal(() => append(stream, [9], 4))).toBe(beyond);
    expect(refusal(() => append(stream, [1, 2, 3], 0))).toBe(`${within} 0`);
    expect(refusal(() => append(stream, [3, 4], 2))).toBe(`${within} 2`);
    expect(refusal(() => append(stream, [9], -1))).toContain("INVALID_ARGUMENT | - | Offset must not be negative");
    expect(refusal(() => append(stream, [4], 3))).toBe("taken");
    expect(ids()).toEqual(["1", "2", "3", "4"]);
  });

  test("a row that is refused moves no offset", () => {
    const stream = create("COMMITTED");
    const connection = new AppendConnection(catalog, clock, { maxRequestBytes: 100_000 });
    const request = (rows: readonly Buffer[]): AppendOutcome =>
      connection.append(
        parseAppendRequest(
          appendRequest({ writeStream: stream, offset: { value: "0" }, protoRows: protoData(rows, idAlone) }),
        ),
      );
    expect(request([int64Row(1n), Buffer.from("ffff", "hex")]).rowProblems).toMatchObject([{ index: 1 }]);
    expect(request([int64Row(1n)]).offset).toBe(0);
  });

  test("finalized, it takes no more rows; its count is told as often as it is asked", () => {
    const stream = create("COMMITTED");
    append(stream, [1, 2]);
    expect(streams.finalize({ name: stream })).toEqual({ rowCount: 2 });
    expect(streams.finalize({ name: stream })).toEqual({ rowCount: 2 });
    const finalized = "INVALID_ARGUMENT | STREAM_FINALIZED | Stream has been finalized and cannot be appended";
    expect(refusal(() => append(stream, [3], 2))).toBe(finalized);
  });

  test("is gone after three days without traffic, and its rows are not", async () => {
    const stream = create("COMMITTED");
    append(stream, [1]);
    await clock.advance(3 * dayMs - 1);
    append(stream, [2]);
    await clock.advance(3 * dayMs - 1);
    expect(streams.get({ name: stream, view: "BASIC" })).toMatchObject({ name: stream });
    await clock.advance(1);
    const gone = "NOT_FOUND | STREAM_NOT_FOUND | Requested entity was not found";
    expect(refusal(() => append(stream, [3], 2))).toBe(gone);
    expect(refusal(() => streams.get({ name: stream, view: "BASIC" }))).toBe(gone);
    expect(refusal(() => streams.finalize({ name: stream }))).toBe(gone);
    expect(ids()).toEqual(["1", "2"]);
  });

  test("goes with its table, and a new table of the name has no part of it", () => {
    const stream = create("COMMITTED");
    append(stream, [1]);
    catalog.deleteTable(table.name);
    expect(refusal(() => append(stream, [2], 1))).toContain("NOT_FOUND | TABLE_NOT_FOUND");
    catalog.createTable(table.name, table.state);
    expect(refusal(() => append(stream, [2], 1))).toContain("NOT_FOUND | STREAM_NOT_FOUND");
  });
});

describe("a connection to a created stream", () => {
  test("stays with its stream and its schema", () => {
    const [first, second] = [create("COMMITTED"), create("COMMITTED")];
    const connection = new AppendConnection(catalog, clock, { maxRequestBytes: 100_000 });
    const send = (message: object): AppendOutcome =>
      connection.append(parseAppendRequest(appendRequest({ writeStream: first, ...message })));
    const twoFields = descriptor([field("id", 1, "int64"), field("uuid", 2, "string")]);
    expect(send({ protoRows: protoData([int64Row(1n)], idAlone) }).refusal).toBeUndefined();
    expect(send({ protoRows: protoData([int64Row(1n)], idAlone) }).refusal).toBeUndefined();
    expect(refusal(() => send({ writeStream: second, protoRows: protoData([int64Row(1n)], idAlone) }))).toContain(
      "keeps its stream",
    );
    expect(refusal(() => send({ writeStream: defaultStream, protoRows: protoData([int64Row(1n)]) }))).toContain(
      "keeps its stream",
    );
    expect(refusal(() => send({ protoRows: protoData([int64Row(1n)], twoFields) }))).toContain("its writer_schema");
    expect(refusal(() => send({ writeStream: "", protoRows: protoData([int64Row(1n)]) }))).toBe("taken");
  });
});

describe("pending streams", () => {
  test("show their rows together, once they are finalized and committed", () => {
    const [first, second] = [create("PENDING"), create("PENDING")];
    append(first, [1, 2], 0);
    append(second, [3], 0);
    expect(ids()).toEqual([]);
    expect(commit(first, second).streamErrors).toMatchObject([
      { code: "INVALID_STREAM_STATE", entity: first },
      { code: "INVALID_STREAM_STATE", entity: second },
    ]);
    streams.finalize({ name: first });
    expect(commit(first, second)).toEqual({
      streamErrors: [expect.objectContaining({ code: "INVALID_STREAM_STATE", entity: second })],
    });
    expect(ids()).toEqual([]);
    streams.finalize({ name: second });
    expect(commit(first, second)).toEqual({ commitTime: { seconds: startMs / 1000, nanos: 0 } });
    expect(ids()).toEqual(["1", "2", "3"]);
    expect(commit(first).streamErrors).toMatchObject([{ code: "STREAM_ALREADY_COMMITTED" }]);
    expect(ids()).toEqual(["1", "2", "3"]);
  });

  test("are committed within a day of their creation, or never", async () => {
    const [inTime, late] = [create("PENDING"), create("PENDING")];
    for (const name of [inTime, late]) {
      append(name, [1]);
      streams.finalize({ name });
    }
    await clock.advance(dayMs - 1);
    expect(commit(inTime).commitTime).toBeDefined();
    await clock.advance(1);
    expect(commit(late).streamErrors).toMatchObject([{ code: "INVALID_STREAM_STATE" }]);
    expect(streams.get({ name: inTime, view: "BASIC" })).toMatchObject({ type: "PENDING" });
    expect(ids()).toEqual(["1"]);
  });

  test("what cannot be committed", () => {
    const [committed, buffered] = [create("COMMITTED"), create("BUFFERED")];
    const nobody = `${parent}/streams/nobody`;
    expect(commit(committed, buffered, nobody).streamErrors).toMatchObject([
      { code: "INVALID_STREAM_TYPE" },
      { code: "INVALID_STREAM_TYPE" },
      { code: "STREAM_NOT_FOUND" },
    ]);
    const foreign = "projects/p/datasets/d/tables/other/streams/s";
    expect(refusal(() => commit())).toContain("must name the streams");
    expect(refusal(() => commit(nobody, nobody))).toContain("names a stream twice");
    expect(refusal(() => commit(foreign))).toContain("does not belong to the table");
    expect(refusal(() => streams.batchCommit({ parent: `${parent}x`, writeStreams: [nobody] }))).toContain(
      "TABLE_NOT_FOUND",
    );
  });
});

describe("buffered streams", () => {
  test("show their rows up to the offset of a flush, that one included", () => {
    const stream = create("BUFFERED");
    append(stream, [1, 2, 3], 0);
    append(stream, [4, 5, 6], 3);
    expect(streams.flush({ writeStream: stream, offset: { value: "0" } })).toEqual({ offset: 0 });
    expect(ids()).toEqual(["1"]);
    streams.flush({ writeStream: stream, offset: { value: "3" } });
    expect(ids()).toEqual(["1", "2", "3", "4"]);
    expect(streams.flush({ writeStream: stream, offset: { value: "1" } })).toEqual({ offset: 1 });
    streams.flush({ writeStream: stream, offset: { value: "5" } });
    expect(ids()).toEqual(["1", "2", "3", "4", "5", "6"]);
  });

  test("a row has the same default values wherever a flush cuts its request", () => {
    const [cut, whole] = [create("BUFFERED"), create("BUFFERED")];
    append(cut, [1, 2]);
    append(whole, [3, 4]);
    for (const value of ["0", "1"]) streams.flush({ writeStream: cut, offset: { value } });
    streams.flush({ writeStream: whole, offset: { value: "1" } });
    const uuids = Array.from(table.rows(), (cells) => cells[1]);
    expect(new Set(uuids).size).toBe(4);
    expect(Array.from(table.rows(), (cells) => cells[1])).toEqual(uuids);
  });

  test("what cannot be flushed", () => {
    const stream = create("BUFFERED");
    append(stream, [1, 2]);
    const flush = (name: string, value?: string): string =>
      refusal(() => streams.flush({ writeStream: name, offset: value === undefined ? null : { value } }));
    expect(flush(stream, "2")).toContain("OUT_OF_RANGE | OFFSET_OUT_OF_RANGE");
    expect(flush(stream)).toContain("needs the offset");
    expect(flush(create("COMMITTED"), "0")).toContain("INVALID_ARGUMENT | INVALID_STREAM_TYPE");
    expect(flush(create("PENDING"), "0")).toContain("INVALID_ARGUMENT | INVALID_STREAM_TYPE");
    expect(flush(defaultStream, "0")).toContain("INVALID_ARGUMENT | INVALID_STREAM_TYPE");
    streams.flush({ writeStream: stream, offset: { value: "0" } });
    streams.finalize({ name: stream });
    expect(flush(stream, "0")).toContain("INVALID_ARGUMENT | STREAM_FINALIZED");
    expect(ids()).toEqual(["1"]);
  });

  test("are gone after seven days without traffic; a flush is traffic", async () => {
    const stream = create("BUFFERED");
    append(stream, [1, 2]);
    await clock.advance(7 * dayMs - 1);
    streams.flush({ writeStream: stream, offset: { value: "0" } });
    await clock.advance(7 * dayMs - 1);
    expect(append(stream, [3]).offset).toBe(2);
    await clock.advance(7 * dayMs);
    expect(refusal(() => streams.flush({ writeStream: stream, offset: { value: "1" } }))).toContain("STREAM_NOT_FOUND");
    expect(ids()).toEqual(["1"]);
  });
});

describe("what is told of a stream", () => {
  test("BASIC has no schema, FULL has it; one that is new is told in full", () => {
    const created = streams.create({ parent, writeStream: { type: "COMMITTED" } }) as Described;
    const { tableSchema, ...basic } = created;
    expect(basic).toMatchObject({
      type: "COMMITTED",
      writeMode: "INSERT",
      createTime: { seconds: startMs / 1000, nanos: 0 },
      commitTime: { seconds: startMs / 1000, nanos: 0 },
    });
    expect(tableSchema?.fields.map(({ name }) => name)).toEqual(["id", "uuid"]);
    expect(streams.get({ name: created.name, view: "BASIC" })).toEqual(basic);
    expect(streams.get({ name: created.name, view: "FULL" })).toEqual(created);
    expect(streams.get({ name: create("PENDING"), view: "BASIC" })).not.toHaveProperty("commitTime");
  });

  test("a default stream is as old as its table, and is not finalized", () => {
    const basic = { name: defaultStream, type: "COMMITTED", createTime: { seconds: startMs / 1000, nanos: 0 } };
    expect(streams.get({ name: `${parent}/_default`, view: "BASIC" })).toMatchObject(basic);
    expect(streams.get({ name: defaultStream, view: "BASIC" })).not.toHaveProperty("tableSchema");
    expect(refusal(() => streams.finalize({ name: defaultStream }))).toContain("INVALID_STREAM_TYPE");
  });

  test("names and types that are none", () => {
    expect(refusal(() => create("TYPE_UNSPECIFIED"))).toContain("INVALID_STREAM_TYPE");
    expect(refusal(() => streams.create({ parent: "p.d.t", writeStream: { type: "PENDING" } }))).toContain(
      "Invalid par",
    );
    expect(refusal(() => streams.get({ name: parent, view: "BASIC" }))).toContain("Invalid stream name");
    expect(refusal(() => streams.create({ parent: `${parent}x`, writeStream: { type: "PENDING" } }))).toContain(
      "NOT_FOUND | TABLE_NOT_FOUND",
    );
  });
});
