/**
 * What a running Millrace does, as its users see it: the real command as a process, real gRPC and REST.
 * The same suite runs against the embedded servers and, where they can be had, against Google's Pub/Sub emulator and
 * against goccy's BigQuery emulator.
 */
import { afterEach, expect, test } from "vitest";
import type { Row } from "../support/bigquery-client.ts";
import { eventually } from "../support/eventually.ts";
import { PipelineHarness } from "../support/pipeline-harness.ts";
import { because, describeServerPairs } from "../support/server-pairs.ts";

const orders = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "price", type: "NUMERIC" },
  { name: "at", type: "TIMESTAMP" },
];

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const sorted = (texts: readonly unknown[]): string[] => texts.map(String).sort((a, b) => (a < b ? -1 : Number(a > b)));
const ids = (rows: readonly Row[]): number[] => rows.map((row) => Number(row["id"])).sort((a, b) => a - b);

describeServerPairs("pipeline", (servers) => {
  const { bigquery } = servers;
  const { cannot } = bigquery;
  let harness: PipelineHarness;

  const create = async (fields: readonly object[] | null = orders): Promise<PipelineHarness> => {
    harness = await PipelineHarness.create({ pubsub: servers.pubsub.address(), bigquery: bigquery.address() }, fields);
    return harness;
  };

  afterEach(async () => {
    await harness.close();
    bigquery.script([]);
  });

  test("of two messages one with a bad field: one row, one dead letter with code and path", async () => {
    const { pubsub, topic } = await create();
    const bad = {
      data: Buffer.from('{ "id" : 2 ,"price":"12.3456789012"}'),
      attributes: { tenant: "t9", CloudPubSubDeadLetterSourceSubscription: "older" },
      orderingKey: "customer-7",
    };
    await pubsub.publish(topic, [{ data: Buffer.from('{"id":1,"price":"1.5"}') }]);
    const [badId] = await pubsub.publish(topic, [bad]);
    const millrace = await harness.start().ready();

    const { rows, letters } = await harness.arrived(1, 1);
    expect(rows).toEqual([{ id: "1", price: cannot.readPacked ? "0" : "1.5", at: null }]);
    expect(letters).toHaveLength(1);
    expect(letters[0]!.data).toEqual(bad.data);
    expect(letters[0]!.orderingKey).toBe("customer-7");
    expect(letters[0]!.attributes).toMatchObject({
      tenant: "t9",
      CloudPubSubDeadLetterSourceSubscription: harness.name,
      CloudPubSubDeadLetterSourceSubscriptionProject: "test",
      millrace_error_code: "PRECISION_LOSS",
      millrace_error_path: "price",
      millrace_stage: "transcode",
      millrace_pipeline: harness.name,
      millrace_message_id: badId,
    });
    expect(await millrace.stop()).toBe(0);
    expect(await harness.pubsub.take(harness.subscription)).toEqual([]);
  });

  test.skipIf(cannot.refuseRows)(
    `BigQuery refuses one row of a batch of 500: 499 rows, one dead letter with its code${because(cannot.refuseRows)}`,
    async () => {
      await create();
      bigquery.script([
        {
          method: "AppendRows",
          call: "all",
          rowErrorsContaining: { bytes: "0888ffff03", message: "id 8388488 is on the blocked list" },
        },
      ]);
      // 8388488 = 0x7fff88 is the varint 88 ff ff 03, so the row of that id begins with 08 88 ff ff 03.
      const payloads = Array.from({ length: 500 }, (_, i) => `{"id":${i === 137 ? 8388488 : i},"price":${i}}`);
      const messageIds = await harness.publish(payloads);
      harness.start({ batch: { maxDelay: "200ms" } });

      const { rows, letters } = await harness.arrived(499, 1);
      expect(rows).toHaveLength(499);
      expect(ids(rows)).toEqual(range(500).filter((i) => i !== 137));
      expect(letters).toHaveLength(1);
      expect(letters[0]!.data.toString()).toBe(payloads[137]);
      expect(letters[0]!.attributes).toMatchObject({
        millrace_error_code: "ROW_REJECTED",
        millrace_stage: "append",
        millrace_message_id: messageIds[137],
      });
      expect(letters[0]!.attributes["CloudPubSubDeadLetterSourceDeliveryErrorMessage"]).toContain("blocked list");
    },
  );

  test("SIGTERM in the middle, then a second start: every message is written or dead-lettered, none twice", async () => {
    await create();
    const count = servers.pubsub.kind === "embedded" && bigquery.kind === "embedded" ? 50_000 : 6_000;
    const isBad = (i: number): boolean => i % 1000 === 999;
    const messageIds = await harness.publish(
      Array.from({ length: count }, (_, i) => (isBad(i) ? `{"id":"x${i}"}` : `{"id":${i},"price":"${i}.25"}`)),
    );
    const good = count - count / 1000;

    // goccy's server takes its time to count: more than is held at once must be left by then.
    const first = harness.start(bigquery.kind === "goccy" ? { pull: { maxOutstandingMessages: 1000 } } : {});
    await eventually("some rows are written", async () =>
      (await harness.bigquery.rowCount(harness.table)) > count / 20 ? true : undefined,
    );
    expect(await first.stop()).toBe(0);
    const written = await harness.bigquery.rowCount(harness.table);
    expect(written).toBeLessThan(good);

    const second = harness.start();
    const { rows, letters } = await harness.arrived(good, count / 1000, 90_000);
    expect(await second.stop()).toBe(0);
    expect(ids(rows)).toEqual(range(count).filter((i) => !isBad(i)));
    const dead = [...letters, ...(await harness.pubsub.take(harness.deadLetterSubscription))];
    expect(sorted(dead.map((letter) => letter.attributes["millrace_message_id"]))).toEqual(
      sorted(messageIds.filter((_, i) => isBad(i))),
    );
  }, 180_000);

  test.skipIf(cannot.growTables)(
    `a column added while running is filled at once when a message brings its field; nothing is lost${because(cannot.growTables)}`,
    async () => {
      await create();
      const millrace = await harness.start().ready();
      const plain = (from: number): string[] => Array.from({ length: 500 }, (_, i) => `{"id":${from + i}}`);
      await harness.publish(plain(0));
      await harness.bigquery.patchTable(harness.table, [...orders, { name: "note", type: "STRING" }]);
      await harness.publish(plain(500)); // some are in flight while the schema changes
      await harness.publish(Array.from({ length: 500 }, (_, i) => `{"id":${1000 + i},"note":"late"}`));

      const { rows, letters } = await harness.arrived(1500, 0, 30_000);
      expect(letters).toEqual([]);
      expect(ids(rows)).toEqual(range(1500));
      for (const row of rows) expect(row["note"]).toBe(Number(row["id"]) < 1000 ? null : "late");
      expect(await millrace.stop()).toBe(0);
    },
  );

  test.skipIf(cannot.growTables)(
    `a column added while running is filled after the scheduled refresh, with dropUnknownFields too${because(cannot.growTables)}`,
    async () => {
      await create();
      const settings = { bigquery: { table: harness.table, useTableSchema: true, dropUnknownFields: true } };
      const millrace = await harness.start({ ...settings, schemaRefreshInterval: "1s" }).ready();
      await harness.bigquery.patchTable(harness.table, [...orders, { name: "note", type: "STRING" }]);
      let published = 0;
      const filledFrom = await eventually("a row has the new column filled", async () => {
        await harness.publish([`{"id":${published++},"note":"n"}`]);
        const { rows } = await harness.arrived(published, 0);
        return rows.find((row) => row["note"] === "n")?.["id"];
      });
      await harness.publish(Array.from({ length: 100 }, (_, i) => `{"id":${published + i},"note":"n"}`));

      const { rows, letters } = await harness.arrived(published + 100, 0);
      expect(letters).toEqual([]);
      expect(ids(rows)).toEqual(range(published + 100));
      for (const row of rows) expect(row["note"]).toBe(Number(row["id"]) < Number(filledFrom) ? null : "n");
      expect(await millrace.stop()).toBe(0);
    },
    60_000,
  );

  test("a table that is missing holds the pipeline, says so, and recovers by itself", async () => {
    await create(null);
    await harness.publish(['{"id":1}']);
    const millrace = harness.start();
    const url = await millrace.url();
    const reasons = await eventually("not ready, with the reason", async () => {
      const response = await fetch(`${url}/readyz`);
      const text = await response.text();
      return response.status === 503 && text.includes("NOT_FOUND") ? text : undefined;
    });
    expect(reasons).toContain(harness.table.split(".").at(-1));
    expect((await fetch(`${url}/livez`)).status).toBe(200);

    await harness.createTable(orders);
    const { rows } = await harness.arrived(1, 0, 40_000);
    expect(rows).toEqual([{ id: "1", price: null, at: null }]);
    await millrace.ready();
    expect(await millrace.stop()).toBe(0);
  }, 60_000);

  test("the values of every type arrive as BigQuery spells them, in lists and records too", async () => {
    const packed = [
      { name: "numeric", type: "NUMERIC" },
      { name: "big", type: "BIGNUMERIC" },
      { name: "time", type: "TIME" },
      { name: "datetime", type: "DATETIME" },
    ];
    await create([
      { name: "int", type: "INT64", mode: "REQUIRED" },
      { name: "bool", type: "BOOL" },
      { name: "float", type: "FLOAT64" },
      { name: "string", type: "STRING" },
      { name: "bytes", type: "BYTES" },
      { name: "date", type: "DATE" },
      { name: "timestamp", type: "TIMESTAMP" },
      { name: "json", type: "JSON" },
      { name: "geography", type: "GEOGRAPHY" },
      { name: "interval", type: "INTERVAL" },
      { name: "ints", type: "INT64", mode: "REPEATED" },
      {
        name: "records",
        type: "RECORD",
        mode: "REPEATED",
        fields: [
          { name: "int", type: "INT64" },
          { name: "strings", type: "STRING", mode: "REPEATED" },
        ],
      },
      ...(cannot.readPacked ? [] : packed),
    ]);
    const values = {
      int: "-9223372036854775808",
      bool: "true",
      float: "-0.1",
      string: "Grüße, \u{1f680}",
      bytes: "AIDF/w==",
      date: "1969-12-31",
      geography: "POINT(1 2)",
      interval: "1-2 3 4:5:6",
      ints: ["9223372036854775807", "0", "-1"],
      records: [
        { int: "7", strings: ["a", ""] },
        { int: null, strings: ["b"] },
      ],
      ...(!cannot.readPacked && {
        numeric: "-99999999999999999999999999999.999999999",
        big: "0.00000000000000000000000000000000000001",
        time: "23:59:59.999999",
        datetime: "0001-01-01T00:00:00.000001",
      }),
    };
    const json = { a: [1, null, { b: "c" }] };
    await harness.publish([
      JSON.stringify({ ...values, bool: true, float: -0.1, timestamp: "2024-02-29T12:34:56.789012+01:00", json }),
    ]);
    harness.start();

    const { rows } = await harness.arrived(1, 0);
    const { json: document, ...scalars } = rows[0]!;
    // 2024-02-29T11:34:56 UTC is second 1,709,206,496.
    expect(scalars).toEqual({ ...values, timestamp: "1709206496789012" });
    expect(JSON.parse(document as string)).toEqual(json);
  });

  test("raw mode with metadata: the payload as it came, and where it came from", async () => {
    await create([
      { name: "subscription_name", type: "STRING" },
      { name: "message_id", type: "STRING" },
      { name: "publish_time", type: "TIMESTAMP" },
      { name: "data", type: "BYTES" },
      { name: "attributes", type: "JSON" },
    ]);
    const data = Buffer.from([0, 128, 255, 10]);
    const [id] = await harness.pubsub.publish(harness.topic, [{ data, attributes: { a: 'x"y' }, orderingKey: "k" }]);
    harness.start({ bigquery: { table: harness.table, writeMetadata: true } });

    const { rows } = await harness.arrived(1, 0);
    expect(rows[0]).toMatchObject({
      subscription_name: harness.subscription,
      message_id: id,
      data: data.toString("base64"),
    });
    expect(JSON.parse(rows[0]!["attributes"] as string)).toEqual({ a: 'x"y', ordering_key: "k" });
  });

  test.skipIf(cannot.fillDefaults)(
    `missing values take their column's default, but an array without elements stays empty${because(cannot.fillDefaults)}`,
    async () => {
      await create([
        { name: "id", type: "INT64", mode: "REQUIRED" },
        { name: "source", type: "STRING", defaultValueExpression: "'web'" },
        { name: "tags", type: "STRING", mode: "REPEATED", defaultValueExpression: "['new']" },
      ]);
      await harness.publish(['{"id":1}', '{"id":2,"tags":[]}', '{"id":3,"source":"app","tags":["a"]}']);
      harness.start({ bigquery: { table: harness.table, useTableSchema: true, missingValues: "default" } });

      const { rows } = await harness.arrived(3, 0);
      expect(Object.fromEntries(rows.map((row) => [row["id"], row]))).toEqual({
        1: { id: "1", source: "web", tags: [] },
        2: { id: "2", source: "web", tags: [] },
        3: { id: "3", source: "app", tags: ["a"] },
      });
    },
  );

  test("without a dead-letter topic a refused message is given back, and its neighbours are written", async () => {
    await create();
    await harness.publish(['{"id":1}', "not json", '{"id":2}']);
    const millrace = harness.start({ deadLetter: { topic: null } });

    const { rows } = await harness.arrived(2, 0);
    expect(ids(rows)).toEqual([1, 2]);
    expect(await millrace.stop()).toBe(0);
    const left = await eventually(
      "the refused message is in the subscription again",
      async () => {
        const messages = await harness.pubsub.take(harness.subscription);
        return messages.length > 0 ? messages : undefined;
      },
      25_000,
    );
    expect(left.map((message) => message.data.toString())).toEqual(["not json"]);
  }, 60_000);
});
