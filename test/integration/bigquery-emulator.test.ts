/** Google's own clients against the embedded BigQuery. */
import { BigQuery } from "@google-cloud/bigquery";
import { adapt, managedwriter, protos } from "@google-cloud/bigquery-storage";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";

const { WriteStreamView } = protos.google.cloud.bigquery.storage.v1;

const projectId = "acme-project";

let emulator: BigQueryEmulator;
let client: BigQuery;

beforeAll(async () => {
  emulator = await startBigQueryEmulator();
  client = new BigQuery({ projectId, apiEndpoint: `http://${emulator.host}:${emulator.restPort}` });
});

afterAll(() => emulator.close());

describe("@google-cloud/bigquery", () => {
  const fields = [
    { name: "id", type: "INTEGER", mode: "REQUIRED" },
    { name: "name", type: "STRING" },
  ];

  test("datasets: create, list, read, delete", async () => {
    await client.createDataset("first", { labels: { team: "a" } });
    const [datasets] = await client.getDatasets();
    expect(datasets.map(({ id }) => id)).toContain("first");
    expect((await client.dataset("first").getMetadata())[0].labels).toEqual({ team: "a" });
    await expect(client.createDataset("first")).rejects.toMatchObject({ code: 409, errors: [{ reason: "duplicate" }] });
    await client.dataset("first").delete();
    expect(await client.dataset("first").exists()).toEqual([false]);
  });

  test("tables: create, read, list, change, delete", async () => {
    const [dataset] = await client.createDataset("tables");
    const [table] = await dataset.createTable("orders", { schema: { fields }, description: "all of them" });
    const [metadata] = await table.getMetadata();
    expect(metadata).toMatchObject({ description: "all of them", numRows: "0", schema: { fields } });
    await expect(dataset.createTable("orders", {})).rejects.toMatchObject({ code: 409 });
    expect((await dataset.getTables())[0].map(({ id }) => id)).toEqual(["orders"]);

    const grown = [...fields, { name: "tags", type: "STRING", mode: "REPEATED" }];
    await table.setMetadata({ schema: { fields: grown } });
    expect((await table.getMetadata())[0].schema.fields).toEqual([
      fields[0],
      { ...fields[1], mode: "NULLABLE" },
      grown[2],
    ]);
    const shrunk = table.setMetadata({ schema: { fields } });
    await expect(shrunk).rejects.toMatchObject({ code: 400, errors: [{ reason: "invalid" }] });

    await expect(dataset.delete()).rejects.toMatchObject({ errors: [{ reason: "resourceInUse" }] });
    await table.delete();
    await expect(table.getMetadata()).rejects.toMatchObject({ code: 404, errors: [{ reason: "notFound" }] });
    await dataset.delete();
  });

  test("a table that somebody else changed is not changed over", async () => {
    emulator.createTable(`${projectId}.etags.t`, fields);
    const url = `http://${emulator.host}:${emulator.restPort}/projects/${projectId}/datasets/etags/tables/t`;
    const patch = (etag: string): Promise<Response> =>
      fetch(url, { method: "PATCH", headers: { "if-match": etag }, body: JSON.stringify({ description: etag }) });
    const { etag } = (await (await fetch(url)).json()) as { etag: string };
    expect((await patch(etag)).status).toBe(200);
    expect((await patch(etag)).status).toBe(412);
  });

  test("BIGQUERY_EMULATOR_HOST points the client here as well", async () => {
    process.env["BIGQUERY_EMULATOR_HOST"] = `http://${emulator.host}:${emulator.restPort}`;
    try {
      const other = new BigQuery({ projectId: "other-project" });
      await other.createDataset("mine");
      expect((await other.getDatasets())[0].map(({ id }) => id)).toEqual(["mine"]);
      expect((await other.query("SELECT 1 AS one"))[0]).toEqual([{ one: 1 }]);
    } finally {
      delete process.env["BIGQUERY_EMULATOR_HOST"];
    }
  });
});

describe("@google-cloud/bigquery-storage", () => {
  const schema = [
    { name: "id", type: "INTEGER", mode: "REQUIRED" },
    { name: "str-列", type: "STRING" },
    { name: "price", type: "NUMERIC" },
    { name: "big", type: "BIGNUMERIC" },
    { name: "raw", type: "BYTES" },
    { name: "ok", type: "BOOLEAN" },
    { name: "ratio", type: "FLOAT" },
    { name: "day", type: "DATE" },
    { name: "clock", type: "TIME" },
    { name: "local", type: "DATETIME" },
    { name: "at", type: "TIMESTAMP" },
    { name: "doc", type: "JSON" },
    { name: "place", type: "GEOGRAPHY" },
    { name: "period", type: "RANGE", rangeElementType: { type: "DATE" } },
    { name: "tags", type: "STRING", mode: "REPEATED" },
    {
      name: "items",
      type: "RECORD",
      mode: "REPEATED",
      fields: [
        { name: "sku", type: "STRING" },
        { name: "counts", type: "INTEGER", mode: "REPEATED" },
      ],
    },
  ];
  const full: Parameters<managedwriter.JSONWriter["appendRows"]>[0][number] = {
    id: 1,
    "str-列": "é",
    price: "12.5",
    big: "0.00000000000000000000000000000000000001",
    raw: "AP8=",
    ok: true,
    ratio: 0.1,
    day: 19_723,
    clock: "01:02:03.5",
    local: "2024-01-02 03:04:05.000006",
    at: 1_704_164_645_000_006,
    doc: '{"a":[1]}',
    place: "POINT(1 2)",
    period: { start: 0, end: 1 },
    tags: ["a", ""],
    items: [{ sku: "x", counts: [1, 2] }, { counts: [] }],
  };
  const stored = {
    id: "1",
    "str-列": "é",
    price: "12.5",
    big: "0.00000000000000000000000000000000000001",
    raw: "AP8=",
    ok: true,
    ratio: 0.1,
    day: "2024-01-01",
    clock: "01:02:03.500000",
    local: "2024-01-02T03:04:05.000006",
    at: "2024-01-02T03:04:05.000006Z",
    doc: '{"a":[1]}',
    place: "POINT(1 2)",
    period: { start: "1970-01-01", end: "1970-01-02" },
    tags: ["a", ""],
    items: [
      { sku: "x", counts: ["1", "2"] },
      { sku: null, counts: [] },
    ],
  };
  const table = `${projectId}.storage.everything`;
  const streamId = `projects/${projectId}/datasets/storage/tables/everything/streams/_default`;
  let writerClient: managedwriter.WriterClient;
  let writer: managedwriter.JSONWriter;

  beforeAll(async () => {
    emulator.createTable(table, schema);
    writerClient = new managedwriter.WriterClient({
      projectId,
      apiEndpoint: emulator.host,
      port: emulator.storagePort,
      sslCreds: grpc.credentials.createInsecure(),
    });
    const { tableSchema } = await writerClient.getWriteStream({ streamId, view: WriteStreamView.FULL });
    const protoDescriptor = adapt.convertStorageSchemaToProto2Descriptor(tableSchema!, "root");
    const connection = await writerClient.createStreamConnection({ streamId });
    writer = new managedwriter.JSONWriter({ connection, protoDescriptor });
  });

  afterAll(() => {
    writer.close();
    writerClient.close();
  });

  test("JSONWriter appends rows of every type it knows", async () => {
    const answer = await writer.appendRows([full, { id: 2 }]).getResult();
    expect(answer).toMatchObject({ writeStream: streamId, appendResult: {}, rowErrors: [] });
    const [first, second] = emulator.rows(table);
    expect(first).toEqual(stored);
    expect(second).toMatchObject({ id: "2", price: null, tags: [], items: [] });
    expect(emulator.appendRequests).toBe(1);
  });

  test("a bad row refuses its request, and the writer learns which", async () => {
    const before = emulator.rowCount(table);
    const answer = await writer.appendRows([{ id: 3 }, { id: 4, doc: "{" }, { id: 5, price: "1e99" }]).getResult();
    expect(answer.error).toMatchObject({ code: grpc.status.INVALID_ARGUMENT });
    expect(answer.rowErrors?.map(({ index, code, message }) => [String(index), code, message])).toEqual([
      ["1", "FIELDS_ERROR", "Text is no JSON value on field doc"],
      ["2", "FIELDS_ERROR", "Value is out of range of NUMERIC on field price"],
    ]);
    expect(emulator.rowCount(table)).toBe(before);
  });

  test("the client of tables reads the rows, page by page", async () => {
    const rows = client.dataset("storage").table("everything");
    const [selected] = await rows.getRows({ selectedFields: "id,items.counts" });
    expect(selected[0]).toEqual({ id: 1, items: [{ counts: [1, 2] }, { counts: [] }] });
    const [first, next] = await rows.getRows({ maxResults: 1, autoPaginate: false });
    const [second, end] = await rows.getRows({ ...next, autoPaginate: false });
    expect([...first, ...second].map(({ id }: { id: number }) => id)).toEqual([1, 2]);
    expect(end).toBeNull();
  });

  test("queries see what was appended, in DuckDB's SQL with BigQuery's names", async () => {
    const sql = `SELECT id, price, "day", "at", period.start AS since, items[1].counts AS counts, raw, doc
      FROM \`${table}\` WHERE id < @limit ORDER BY id`;
    const [rows] = await client.query({ query: sql, params: { limit: 2 } });
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ id: 1, counts: [1, 2], raw: Buffer.from([0, 255]), doc: '{"a":[1]}' });
    expect(rows[0].price.toString()).toBe("12.5");
    expect(rows[0].day.value).toBe("2024-01-01");
    expect(rows[0].at.value).toBe("2024-01-02T03:04:05.000006000Z");
    expect(rows[0].since.value).toBe("1970-01-01");
    expect(await emulator.query(`SELECT * FROM \`${table}\` WHERE id = 1`)).toEqual([stored]);
    await writer.appendRows([{ id: 6 }]).getResult();
    const [counts] = await client.query("SELECT COUNT(*) AS n, SUM(id) AS s FROM storage.everything");
    expect(counts).toEqual([{ n: 3, s: 9 }]);
  });

  test("a job of its own, results page by page", async () => {
    const [job] = await client.createQueryJob({ query: "SELECT * FROM range(5) AS r(n)" });
    const [first, next] = await job.getQueryResults({ maxResults: 3, autoPaginate: false });
    const [second, end] = await job.getQueryResults({ ...next, autoPaginate: false });
    expect([...first, ...second].map(({ n }: { n: number }) => n)).toEqual([0, 1, 2, 3, 4]);
    expect(end).toBeNull();
    expect((await job.getMetadata())[0].status.state).toBe("DONE");
  });

  test.each([
    ["a table that is not there", "SELECT * FROM storage.nope", 404, "notFound"],
    ["no SQL", "SELEC 1", 400, "invalidQuery"],
    ["two statements", "SELECT 1; SELECT 2", 400, "invalidQuery"],
    ["a change", "DELETE FROM storage.everything", 400, "invalidQuery"],
    ["the machine's files", "SELECT * FROM read_text('/etc/passwd')", 400, "invalidQuery"],
    [
      "an integer beyond INT64",
      "SELECT SUM(n) AS s FROM (SELECT 9223372036854775807 AS n UNION ALL SELECT 1)",
      400,
      "invalidQuery",
    ],
  ])("a query of %s is refused", async (_, sql, code, reason) => {
    await expect(client.query(sql)).rejects.toMatchObject({ code, errors: [{ reason }] });
  });
});

test("with a data file, tables and rows are there after a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bigquery-"));
  const options = { data: join(folder, "data") };
  const streamId = `projects/${projectId}/datasets/kept/tables/t/streams/_default`;
  try {
    const first = await startBigQueryEmulator(options);
    first.createTable(`${projectId}.kept.t`, [{ name: "price", type: "NUMERIC" }]);
    const writerClient = new managedwriter.WriterClient({
      projectId,
      apiEndpoint: first.host,
      port: first.storagePort,
      sslCreds: grpc.credentials.createInsecure(),
    });
    const { tableSchema } = await writerClient.getWriteStream({ streamId, view: WriteStreamView.FULL });
    const protoDescriptor = adapt.convertStorageSchemaToProto2Descriptor(tableSchema!, "root");
    const connection = await writerClient.createStreamConnection({ streamId });
    const writer = new managedwriter.JSONWriter({ connection, protoDescriptor });
    await writer.appendRows([{ price: "0.000000001" }]).getResult();
    writer.close();
    writerClient.close();
    await first.close();

    const second = await startBigQueryEmulator(options);
    expect(second.rows(`${projectId}.kept.t`)).toEqual([{ price: "0.000000001" }]);
    expect(await second.query(`SELECT SUM(price) AS s FROM \`${projectId}.kept.t\``)).toEqual([{ s: "0.000000001" }]);
    await second.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
