/** The embedded BigQuery's faults, and what it does with a connection, seen from plain gRPC and HTTP clients. */
import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { serviceDefinition, storageProtos } from "../../src/lib/protos.ts";
import { appendRequest, bytes, descriptor, field, protoData } from "../unit/emulator/bigquery/writer.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const table = "acme-project.sales.orders";
const streamName = "projects/acme-project/datasets/sales/tables/orders/streams/_default";
const fields = [{ name: "id", type: "INT64", mode: "REQUIRED" }];
const writerSchema = descriptor([field("id", 1, "int64")]);

interface Answer {
  /** Either this or the error is there. */
  readonly appendResult?: object;
  readonly error?: { code: number; message: string; details: { type_url: string; value: Buffer }[] };
  readonly rowErrors: { index: string; message: string }[];
  readonly updatedSchema: { fields: { name: string }[] } | null;
}

const definition = serviceDefinition(storageProtos(), "google.cloud.bigquery.storage.v1.BigQueryWrite");

/** One AppendRows stream on a connection of its own. */
class Stream {
  readonly answers: Answer[] = [];
  readonly ended: Promise<grpc.StatusObject>;
  readonly #client: grpc.Client;
  readonly #call: grpc.ClientDuplexStream<Buffer, Answer>;

  constructor(emulator: BigQueryEmulator, routing: string | null = `write_stream=${streamName}`) {
    this.#client = new grpc.Client(`${emulator.host}:${emulator.storagePort}`, grpc.credentials.createInsecure());
    const metadata = new grpc.Metadata();
    if (routing !== null) metadata.set("x-goog-request-params", routing);
    const { path, responseDeserialize } = definition["AppendRows"]!;
    this.#call = this.#client.makeBidiStreamRequest(
      path,
      (request: Buffer) => request,
      responseDeserialize as (bytes: Buffer) => Answer,
      metadata,
    );
    this.#call.on("data", (answer: Answer) => this.answers.push(answer));
    this.ended = new Promise((resolve) => {
      this.#call.on("error", () => {});
      this.#call.on("status", resolve);
    });
  }

  /** Appends rows with these ids; the first request of a stream names stream and schema. */
  append(ids: readonly number[], message: object = {}): void {
    const rows = ids.map((id) => bytes(`08 ${id.toString(16).padStart(2, "0")}`));
    this.#call.write(appendRequest({ protoRows: protoData(rows), ...message }));
  }

  appendFirst(ids: readonly number[], writeStream = streamName): void {
    const rows = ids.map((id) => bytes(`08 ${id.toString(16).padStart(2, "0")}`));
    this.append(ids, { writeStream, protoRows: protoData(rows, writerSchema) });
  }

  /** Ends the requests and waits for the end of the answers. */
  async finish(): Promise<grpc.StatusObject> {
    this.#call.end();
    return this.close();
  }

  async close(): Promise<grpc.StatusObject> {
    const status = await this.ended;
    this.#client.close();
    return status;
  }
}

let emulator: BigQueryEmulator;

beforeEach(async () => {
  emulator = await startBigQueryEmulator();
  emulator.createTable(table, fields);
});

afterEach(() => emulator.close());

function ids(): unknown[] {
  return emulator.rows(table).map(({ id }) => id);
}

describe("AppendRows", () => {
  test("requests in flight are answered one by one, in order", async () => {
    const stream = new Stream(emulator);
    stream.appendFirst([1]);
    stream.append([2, 0]);
    stream.append([]);
    stream.append([3]);
    expect((await stream.finish()).code).toBe(grpc.status.OK);
    expect(stream.answers.map(({ error }) => error?.message ?? null)).toEqual([
      null,
      null,
      "Rows must be specified",
      null,
    ]);
    expect(ids()).toEqual(["1", "2", "0", "3"]);
    expect(emulator.appendRequests).toBe(4);
  });

  test("without its routing header a call goes nowhere", async () => {
    const stream = new Stream(emulator, null);
    const status = await stream.close();
    expect(status.code).toBe(grpc.status.INVALID_ARGUMENT);
    expect(status.details).toContain("Cannot route on empty project id");
    const byLocation = new Stream(emulator, "write_location=projects/acme-project/locations/us");
    byLocation.appendFirst([1]);
    expect((await byLocation.finish()).code).toBe(grpc.status.OK);
  });

  test("a first request to no table ends the call, with its StorageError in the trailers", async () => {
    const stream = new Stream(emulator);
    stream.appendFirst([1], streamName.replace("orders", "nope"));
    const status = await stream.close();
    expect(status.code).toBe(grpc.status.NOT_FOUND);
    const [trailer] = status.metadata.get("google.cloud.bigquery.storage.v1.storageerror-bin");
    const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.StorageError");
    expect(type.toObject(type.decode(trailer as Buffer), { enums: String })).toMatchObject({ code: "TABLE_NOT_FOUND" });
  });

  test("an extra field is answered with its StorageError, and the stream goes on", async () => {
    const stream = new Stream(emulator);
    const wide = descriptor([field("id", 1, "int64"), field("more", 2, "string")]);
    stream.append([1], { writeStream: streamName, protoRows: protoData([bytes("08 01")], wide) });
    stream.appendFirst([2]);
    await stream.finish();
    const [refused, taken] = stream.answers;
    expect(refused?.error?.code).toBe(grpc.status.INVALID_ARGUMENT);
    const [detail] = refused?.error?.details ?? [];
    expect(detail?.type_url).toBe("type.googleapis.com/google.cloud.bigquery.storage.v1.StorageError");
    const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.StorageError");
    const storageError = type.toObject(type.decode(detail!.value), { enums: String });
    expect(storageError).toMatchObject({ code: "SCHEMA_MISMATCH_EXTRA_FIELDS", entity: streamName });
    expect(taken?.appendResult).toBeDefined();
    expect(ids()).toEqual(["2"]);
  });

  test("a new column is told with the next answer", async () => {
    const stream = new Stream(emulator);
    stream.appendFirst([1]);
    await expect.poll(() => stream.answers.length).toBe(1);
    emulator.patchTable(table, [...fields, { name: "more", type: "STRING" }]);
    stream.append([2]);
    await stream.finish();
    expect(stream.answers[0]?.updatedSchema).toBeNull();
    expect(stream.answers[1]?.updatedSchema?.fields.map(({ name }) => name)).toEqual(["id", "more"]);
  });

  test("a request beyond the limit is refused, and the stream goes on", async () => {
    const stream = new Stream(emulator);
    stream.append([1], { writeStream: streamName, traceId: "x".repeat(10 * 2 ** 20) });
    stream.appendFirst([2]);
    await stream.finish();
    expect(stream.answers[0]?.error?.message).toContain("AppendRows request too large");
    expect(ids()).toEqual(["2"]);
  });

  test("a stream that is silent for ten minutes is closed by the server", async () => {
    const clock = new VirtualClock();
    const quiet = await startBigQueryEmulator({ clock });
    quiet.createTable(table, fields);
    const stream = new Stream(quiet);
    stream.appendFirst([1]);
    await expect.poll(() => stream.answers.length).toBe(1);
    await clock.advance(599_999);
    stream.append([2]);
    await expect.poll(() => stream.answers.length).toBe(2);
    await clock.advance(599_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    const status = await stream.close();
    expect(status.code).toBe(grpc.status.ABORTED);
    expect(status.details).toContain("inactive for 600 seconds");
    await quiet.close();
  });
});

describe("faults of AppendRows, by request", () => {
  test("a status ends the stream before the request takes effect", async () => {
    emulator.faults.replace([{ method: "AppendRows", call: 2, status: "UNAVAILABLE", message: "back soon" }]);
    const stream = new Stream(emulator);
    stream.appendFirst([1]);
    stream.append([2]);
    stream.append([3]);
    const status = await stream.close();
    expect([status.code, status.details]).toEqual([grpc.status.UNAVAILABLE, "back soon"]);
    expect(stream.answers).toHaveLength(1);
    expect(ids()).toEqual(["1"]);
  });

  test.each([
    ["before", ["1"]],
    ["after", ["1", "2"]],
  ] as const)("a disconnect %s the effect", async (disconnect, expected) => {
    emulator.faults.replace([{ method: "AppendRows", call: 2, disconnect }]);
    const stream = new Stream(emulator);
    stream.appendFirst([1]);
    stream.append([2]);
    stream.append([3]);
    expect((await stream.close()).code).not.toBe(grpc.status.OK);
    expect(ids()).toEqual(expected);
  });

  test("row errors refuse the request and name the rows", async () => {
    emulator.faults.replace([{ method: "AppendRows", call: 1, rowErrors: [{ index: 1, message: "no" }] }]);
    const stream = new Stream(emulator);
    stream.appendFirst([1, 2]);
    stream.append([1]);
    await stream.finish();
    expect(stream.answers[0]).toMatchObject({
      error: { code: grpc.status.INVALID_ARGUMENT },
      rowErrors: [{ index: "1", message: "no" }],
    });
    expect(ids()).toEqual(["1"]);
  });

  test("rows that hold certain bytes are refused, however few of them the answer names", async () => {
    const named = async (atMost: number | undefined): Promise<string[]> => {
      const rowErrorsContaining = { bytes: "0807", message: "no seven", ...(atMost !== undefined && { atMost }) };
      emulator.faults.replace([{ method: "AppendRows", call: "all", rowErrorsContaining }]);
      const stream = new Stream(emulator);
      stream.appendFirst([7, 1, 7]);
      await stream.finish();
      expect(stream.answers[0]).toMatchObject({ error: { code: grpc.status.INVALID_ARGUMENT } });
      return stream.answers[0]!.rowErrors.map(({ index }) => index);
    };
    expect([await named(undefined), await named(1), await named(0)]).toEqual([["0", "2"], ["0"], []]);
    expect(ids()).toEqual([]);
  });

  test("an error in the answer, with a StorageError", async () => {
    const error = {
      status: "RESOURCE_EXHAUSTED",
      message: "slow down",
      storageError: "KMS_SERVICE_ERROR",
    } as const;
    emulator.faults.replace([{ method: "AppendRows", call: "1-2", error }]);
    const stream = new Stream(emulator);
    stream.appendFirst([1]);
    stream.append([2]);
    stream.appendFirst([3]);
    await stream.finish();
    expect(stream.answers.map(({ error }) => error?.code ?? 0)).toEqual([
      grpc.status.RESOURCE_EXHAUSTED,
      grpc.status.RESOURCE_EXHAUSTED,
      grpc.status.OK,
    ]);
    expect(stream.answers[0]?.error?.details).toHaveLength(1);
    expect(ids()).toEqual(["3"]);
  });

  test("a delay holds back its answer and those behind it, not the effect", async () => {
    const clock = new VirtualClock();
    const slow = await startBigQueryEmulator({ clock, faults: [{ method: "AppendRows", call: 1, delayMs: 500 }] });
    slow.createTable(table, fields);
    const stream = new Stream(slow);
    stream.appendFirst([1]);
    stream.append([2]);
    await expect.poll(() => slow.rowCount(table)).toBe(2);
    expect(stream.answers).toHaveLength(0);
    await clock.advance(500);
    await expect.poll(() => stream.answers.length).toBe(2);
    await stream.finish();
    await slow.close();
  });
});

describe("GetWriteStream", () => {
  async function getWriteStream(name: string, routing = `name=${name}`): Promise<object> {
    const client = new grpc.Client(`${emulator.host}:${emulator.storagePort}`, grpc.credentials.createInsecure());
    const { path, requestSerialize, responseDeserialize } = definition["GetWriteStream"]!;
    const metadata = new grpc.Metadata();
    metadata.set("x-goog-request-params", routing);
    try {
      return await new Promise((resolve, reject) => {
        const request = { name, view: "FULL" };
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, (error, response) => {
          if (error) reject(error);
          else resolve(response as object);
        });
      });
    } finally {
      client.close();
    }
  }

  test("gives the table's schema", async () => {
    expect(await getWriteStream(streamName)).toMatchObject({
      name: streamName,
      tableSchema: { fields: [{ name: "id", type: "INT64", mode: "REQUIRED" }] },
    });
  });

  test("answers NOT_FOUND for a table that is not there, and to scripted faults", async () => {
    const nope = streamName.replace("orders", "nope");
    await expect(getWriteStream(nope)).rejects.toMatchObject({ code: grpc.status.NOT_FOUND });
    await expect(getWriteStream(streamName, "")).rejects.toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
    emulator.faults.replace([{ method: "GetWriteStream", call: "all", status: "PERMISSION_DENIED" }]);
    await expect(getWriteStream(streamName)).rejects.toMatchObject({ code: grpc.status.PERMISSION_DENIED });
  });
});

describe("REST", () => {
  function get(path: string): Promise<Response> {
    return fetch(`http://${emulator.host}:${emulator.restPort}${path}`);
  }

  const tablePath = "/projects/acme-project/datasets/sales/tables/orders";

  test("faults by the names of the API: a status, then a cut connection, then the answer", async () => {
    emulator.faults.replace([
      { method: "tables.get", call: 1, status: "PERMISSION_DENIED", message: "no grant" },
      { method: "tables.get", call: 2, disconnect: "before" },
    ]);
    const refused = await get(tablePath);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({
      error: {
        code: 403,
        message: "no grant",
        errors: [{ message: "no grant", domain: "global", reason: "accessDenied" }],
        status: "PERMISSION_DENIED",
      },
    });
    await expect(get(tablePath)).rejects.toThrow("fetch failed");
    expect((await get(`/bigquery/v2${tablePath}?view=BASIC`)).status).toBe(200);
    expect(emulator.faults.calls("tables.get")).toBe(3);
  });

  test("what is not there, and bodies that are no JSON", async () => {
    expect((await get("/projects/acme-project/nonsense")).status).toBe(404);
    const url = `http://${emulator.host}:${emulator.restPort}/projects/acme-project/datasets`;
    const answer = await fetch(url, { method: "POST", body: "{" });
    expect([answer.status, (await answer.json()) as object]).toMatchObject([
      400,
      { error: { status: "INVALID_ARGUMENT" } },
    ]);
  });
});
