/** Write streams of the embedded BigQuery: Google's own client, then what a connection goes through. */
import { adapt, managedwriter, protos } from "@google-cloud/bigquery-storage";
import * as grpc from "@grpc/grpc-js";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type BigQueryEmulator,
  type BigQueryEmulatorOptions,
  startBigQueryEmulator,
} from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { AppendStream, callMethod, storageCodeOf, storageErrorIn } from "../support/write-api-client.ts";

const { WriteStreamView } = protos.google.cloud.bigquery.storage.v1;
const projectId = "acme-project";
const table = `${projectId}.sales.orders`;
const parent = `projects/${projectId}/datasets/sales/tables/orders`;
const fields = [{ name: "id", type: "INT64", mode: "REQUIRED" }];

let emulator: BigQueryEmulator;

async function start(options: BigQueryEmulatorOptions = {}): Promise<void> {
  emulator = await startBigQueryEmulator(options);
  emulator.createTable(table, fields);
}

beforeEach(() => start());
afterEach(() => emulator.close());

function ids(): unknown[] {
  return emulator.rows(table).map(({ id }) => id);
}

async function create(type: string): Promise<string> {
  const { name } = await callMethod<{ name: string }>(emulator, "CreateWriteStream", "parent", {
    parent,
    writeStream: { type },
  });
  return name;
}

describe("@google-cloud/bigquery-storage", () => {
  let client: managedwriter.WriterClient;

  beforeEach(() => {
    client = new managedwriter.WriterClient({
      projectId,
      apiEndpoint: emulator.host,
      port: emulator.storagePort,
      sslCreds: grpc.credentials.createInsecure(),
    });
  });
  afterEach(() => client.close());

  async function writerOf(streamId: string): Promise<managedwriter.JSONWriter> {
    const { tableSchema } = await client.getWriteStream({ streamId, view: WriteStreamView.FULL });
    const protoDescriptor = adapt.convertStorageSchemaToProto2Descriptor(tableSchema!, "root");
    return new managedwriter.JSONWriter({
      connection: await client.createStreamConnection({ streamId }),
      protoDescriptor,
    });
  }

  const created = (streamType: "COMMITTED" | "PENDING" | "BUFFERED"): Promise<string> =>
    client.createWriteStream({ streamType, destinationTable: parent });

  test("a committed stream: offsets, what is sent twice, what is ahead, the count at the end", async () => {
    const streamId = await created("COMMITTED");
    const writer = await writerOf(streamId);
    const first = await writer.appendRows([{ id: 1 }, { id: 2 }], 0).getResult();
    expect([first.writeStream, String(first.appendResult?.offset?.value)]).toEqual([streamId, "0"]);
    const again = await writer.appendRows([{ id: 1 }, { id: 2 }], 0).getResult();
    expect(again.error?.code).toBe(grpc.status.ALREADY_EXISTS);
    const ahead = await writer.appendRows([{ id: 9 }], 5).getResult();
    expect(ahead.error?.code).toBe(grpc.status.OUT_OF_RANGE);
    expect(storageCodeOf(ahead.error)).toBe("OFFSET_OUT_OF_RANGE");
    const second = await writer.appendRows([{ id: 3 }], 2).getResult();
    expect(String(second.appendResult?.offset?.value)).toBe("2");
    expect(ids()).toEqual(["1", "2", "3"]);
    const connection = await client.createStreamConnection({ streamId });
    expect(Number((await connection.finalize())?.rowCount)).toBe(3);
    const late = await writer.appendRows([{ id: 4 }], 3).getResult();
    expect(storageCodeOf(late.error)).toBe("STREAM_FINALIZED");
    writer.close();
  });

  test("pending streams: nothing is seen before the commit, everything after", async () => {
    const names = [await created("PENDING"), await created("PENDING")];
    for (const [index, streamId] of names.entries()) {
      const writer = await writerOf(streamId);
      await writer.appendRows([{ id: index * 10 + 1 }, { id: index * 10 + 2 }], 0).getResult();
      writer.close();
    }
    const request = { parent, writeStreams: names };
    const early = await client.batchCommitWriteStream(request);
    expect(early.streamErrors?.map(({ code }) => code)).toEqual(["INVALID_STREAM_STATE", "INVALID_STREAM_STATE"]);
    expect(early.commitTime).toBeNull();
    for (const streamId of names) await (await client.createStreamConnection({ streamId })).finalize();
    expect(ids()).toEqual([]);
    const commit = await client.batchCommitWriteStream(request);
    expect(commit.streamErrors).toEqual([]);
    expect(Number(commit.commitTime?.seconds)).toBeGreaterThan(1_700_000_000);
    expect(ids()).toEqual(["1", "2", "11", "12"]);
  });

  test("a buffered stream: rows are seen up to the flushed offset", async () => {
    const streamId = await created("BUFFERED");
    const writer = await writerOf(streamId);
    await writer.appendRows([{ id: 1 }, { id: 2 }, { id: 3 }], 0).getResult();
    const connection = await client.createStreamConnection({ streamId });
    expect(ids()).toEqual([]);
    expect(Number((await connection.flushRows({ offset: 1 }))?.offset)).toBe(1);
    expect(ids()).toEqual(["1", "2"]);
    await connection.flushRows({ offset: 2 });
    expect(ids()).toEqual(["1", "2", "3"]);
    writer.close();
  });
});

describe("a write stream that was created", () => {
  test("an answer that was lost: the same offset again tells that the rows are there", async () => {
    const name = await create("COMMITTED");
    emulator.faults.replace([{ method: "AppendRows", call: 1, disconnect: "after" }]);
    const cut = new AppendStream(emulator, name);
    cut.append([1, 2], { offset: 0 });
    expect((await cut.close()).code).not.toBe(grpc.status.OK);
    const again = new AppendStream(emulator, name);
    again.append([1, 2], { offset: 0 });
    again.append([3], { offset: 2 });
    await again.finish();
    expect(again.answers.map(({ error }) => error?.code ?? 0)).toEqual([grpc.status.ALREADY_EXISTS, grpc.status.OK]);
    expect(ids()).toEqual(["1", "2", "3"]);
  });

  test("one that nobody created ends the call, with its StorageError", async () => {
    const stream = new AppendStream(emulator, `${parent}/streams/nobody`);
    stream.append([1]);
    const status = await stream.close();
    expect(status.code).toBe(grpc.status.NOT_FOUND);
    expect(storageErrorIn(status)).toMatchObject({ code: "STREAM_NOT_FOUND", entity: `${parent}/streams/nobody` });
  });

  test("belongs to the connection that came last", async () => {
    const name = await create("COMMITTED");
    const [first, second] = [new AppendStream(emulator, name), new AppendStream(emulator, name)];
    first.append([1]);
    await expect.poll(() => first.answers.length).toBe(1);
    second.append([2], { offset: 1 });
    const ended = await first.close();
    expect([ended.code, ended.details]).toEqual([grpc.status.ABORTED, expect.stringContaining("Another connection")]);
    second.append([3], { offset: 2 });
    expect((await second.finish()).code).toBe(grpc.status.OK);
    expect(ids()).toEqual(["1", "2", "3"]);
  });

  test("its offsets and the rows that wait are there after a restart with a data file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-streams-"));
    await emulator.close();
    await start({ data: join(folder, "data") });
    const [committed, pending] = [await create("COMMITTED"), await create("PENDING")];
    for (const name of [committed, pending]) {
      const stream = new AppendStream(emulator, name);
      stream.append([1, 2], { offset: 0 });
      await stream.finish();
    }
    await emulator.close();
    emulator = await startBigQueryEmulator({ data: join(folder, "data") });
    const stream = new AppendStream(emulator, committed);
    stream.append([2], { offset: 1 });
    stream.append([3], { offset: 2 });
    await stream.finish();
    expect(stream.answers.map(({ error }) => error?.code ?? 0)).toEqual([grpc.status.ALREADY_EXISTS, 0]);
    await callMethod(emulator, "FinalizeWriteStream", "name", { name: pending });
    await callMethod(emulator, "BatchCommitWriteStreams", "parent", { parent, writeStreams: [pending] });
    expect(ids()).toEqual(["1", "2", "3", "1", "2"]);
    rmSync(folder, { recursive: true });
  });

  test("quotas: streams an hour, connections at a time", async () => {
    await emulator.close();
    await start({ maxStreamsPerHour: 2, maxConnections: 1 });
    const name = await create("COMMITTED");
    await create("COMMITTED");
    await expect(create("COMMITTED")).rejects.toMatchObject({ code: grpc.status.RESOURCE_EXHAUSTED });
    const [first, second] = [new AppendStream(emulator, name), new AppendStream(emulator, name)];
    first.append([1]);
    await expect.poll(() => first.answers.length).toBe(1);
    expect((await second.close()).code).toBe(grpc.status.RESOURCE_EXHAUSTED);
    await first.finish();
    const third = new AppendStream(emulator, name);
    third.append([2]);
    expect((await third.finish()).code).toBe(grpc.status.OK);
  });
});

describe("the Storage server", () => {
  const name = `${parent}/streams/_default`;

  test("cut and started again on its port: tables, streams and counts stay", async () => {
    const created = await create("COMMITTED");
    const before = new AppendStream(emulator, created);
    before.append([1], { offset: 0 });
    await expect.poll(() => before.answers.length).toBe(1);
    const port = emulator.storagePort;
    await emulator.restartStorage();
    expect((await before.close()).code).toBe(grpc.status.UNAVAILABLE);
    expect(emulator.storagePort).toBe(port);
    const after = new AppendStream(emulator, created);
    after.append([2], { offset: 1 });
    expect((await after.finish()).code).toBe(grpc.status.OK);
    expect(ids()).toEqual(["1", "2"]);
    expect(emulator.appendRequests).toBe(2);
  });

  test("stopped with grace: answers that are due come first, then ABORTED; nobody gets in until it starts", async () => {
    const clock = new VirtualClock();
    await emulator.close();
    await start({ clock, faults: [{ method: "AppendRows", call: 2, delayMs: 1000 }] });
    const stream = new AppendStream(emulator, name);
    stream.append([1]);
    stream.append([2]);
    await expect.poll(() => emulator.rowCount(table)).toBe(2);
    const stopped = emulator.stopStorage(20_000);
    const refused = new AppendStream(emulator, name);
    refused.append([3]);
    expect((await refused.close()).code).toBe(grpc.status.UNAVAILABLE);
    expect(stream.answers).toHaveLength(1);
    await clock.advance(1000);
    const status = await stream.close();
    expect([status.code, status.details]).toEqual([
      grpc.status.ABORTED,
      expect.stringContaining("server is restarted"),
    ]);
    expect(stream.answers).toHaveLength(2);
    await stopped;
    await emulator.startStorage();
    const after = new AppendStream(emulator, name);
    after.append([3]);
    expect((await after.finish()).code).toBe(grpc.status.OK);
    expect(ids()).toEqual(["1", "2", "3"]);
  });

  test("a stream that is silent is closed behind the answers that are due, and takes nothing more", async () => {
    const clock = new VirtualClock();
    await emulator.close();
    await start({ clock, faults: [{ method: "AppendRows", call: 1, delayMs: 900_000 }] });
    const stream = new AppendStream(emulator, name);
    stream.append([1]);
    await expect.poll(() => emulator.rowCount(table)).toBe(1);
    await clock.advance(600_000);
    expect(stream.answers).toHaveLength(0);
    stream.append([2]);
    await expect.poll(() => emulator.appendRequests).toBe(1);
    await clock.advance(300_000);
    const status = await stream.close();
    expect(status.details).toBe(
      `Closing the stream because it has been inactive for 600 seconds. Entity: ${parent}/streams/_default`,
    );
    expect(stream.answers).toHaveLength(1);
    expect(ids()).toEqual(["1"]);
  });
});

test("POST /reset forgets everything, and what comes after is new", async () => {
  const name = await create("COMMITTED");
  const stream = new AppendStream(emulator, name);
  stream.append([1], { offset: 0 });
  await expect.poll(() => emulator.rowCount(table)).toBe(1);
  const url = `http://${emulator.host}:${emulator.restPort}`;
  expect((await fetch(`${url}/reset`, { method: "POST" })).status).toBe(200);
  expect((await fetch(`${url}/projects/${projectId}/datasets/sales`)).status).toBe(404);
  stream.append([2], { offset: 1 });
  await expect.poll(() => stream.answers.length).toBe(2);
  expect(stream.answers[1]?.error?.code).toBe(grpc.status.NOT_FOUND);
  await stream.finish();
  emulator.createTable(table, fields);
  const after = new AppendStream(emulator, `${parent}/streams/_default`);
  after.append([3]);
  await after.finish();
  expect(ids()).toEqual(["3"]);
});
