/** Dead letters, duplicates and the breaker, as the users of a running Millrace see them: the real command, real gRPC. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { eventually } from "../support/eventually.ts";
import type { MillraceProcess } from "../support/millrace-process.ts";
import { PipelineHarness } from "../support/pipeline-harness.ts";
import type { ReceivedMessage } from "../support/pubsub-client.ts";
import { describePubSubServers } from "../support/pubsub-servers.ts";

const fields = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING" },
  { name: "ts", type: "TIMESTAMP" },
];

/** Waits until `/readyz` names a state, and returns all it says. */
async function held(millrace: MillraceProcess, state: string): Promise<string> {
  const url = await millrace.url();
  return eventually(`not ready because of ${state}`, async () => {
    const text = await (await fetch(`${url}/readyz`)).text();
    return text.includes(state) ? text : undefined;
  });
}

async function metric(millrace: MillraceProcess, name: string): Promise<number> {
  const text = await (await fetch(`${await millrace.url()}/metrics`)).text();
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"))].map(([, value]) =>
    Number(value),
  );
  return values.reduce((sum, value) => sum + value, 0);
}

describePubSubServers("dead letters", (server) => {
  let bigquery: BigQueryEmulator;
  let harness: PipelineHarness;

  beforeAll(async () => {
    bigquery = await startBigQueryEmulator();
  });
  afterEach(() => harness.close());
  afterAll(() => bigquery.close());

  const create = async (): Promise<PipelineHarness> => {
    harness = await PipelineHarness.create({ pubsub: server.address(), bigquery }, fields);
    return harness;
  };
  const letters = async (count: number): Promise<readonly ReceivedMessage[]> =>
    (await harness.arrived(0, count)).letters;

  test("dq-01, dq-03: a hopeless message is dead-lettered at once, byte for byte, with its properties and the reason", async () => {
    const { pubsub, topic } = await create();
    const messages = [
      { data: Buffer.from('{"id":"abc"}'), attributes: { tenant: "t9", trace: "00-1" }, orderingKey: "o1" },
      { data: Buffer.from('{ "ts" : "2024-09-03T18:51:43.417Z", "id" : "x" ,"n":1.10}') },
    ];
    const ids = await pubsub.publish(topic, messages.slice(0, 1));
    ids.push(...(await pubsub.publish(topic, messages.slice(1))));
    const millrace = await harness.start().ready();
    const found = await letters(2);
    for (const [i, { data }] of messages.entries()) {
      const letter = found.find(({ attributes }) => attributes["millrace_message_id"] === ids[i])!;
      expect(letter.data).toEqual(data);
      expect(letter.attributes).toMatchObject({
        ...messages[i]!.attributes,
        millrace_error_code: "TYPE_MISMATCH",
        millrace_error_path: "id",
        millrace_publish_time: expect.stringMatching(/^\d{16}$/),
        CloudPubSubDeadLetterSourceDeliveryCount: "1",
        CloudPubSubDeadLetterSourceSubscription: harness.name,
        CloudPubSubDeadLetterSourceSubscriptionProject: "test",
      });
      expect(letter.orderingKey).toBe(messages[i]!.orderingKey ?? "");
    }
    expect(await millrace.stop()).toBe(0);
    expect(await harness.pubsub.take(harness.subscription)).toEqual([]);
  });

  test("dq-04: a message with 99 attributes loses none of them, and its letter is within the limits", async () => {
    const { pubsub, topic } = await create();
    const attributes = Object.fromEntries(
      Array.from({ length: 99 }, (_, i) => [`a${String(i).padStart(2, "0")}`, "v"]),
    );
    await pubsub.publish(topic, [
      { data: Buffer.from('{"id":"abc"}'), attributes },
      { data: Buffer.from("neighbour") },
    ]);
    harness.start();
    const found = await letters(2);
    const { millrace_attributes_1: moved, ...told } = found.find(
      ({ data }) => data.toString() === '{"id":"abc"}',
    )!.attributes;
    expect(JSON.parse(moved!)).toEqual(attributes);
    expect(told).toMatchObject({ millrace_error_code: "TYPE_MISMATCH", millrace_error_path: "id" });
    expect(Object.keys(told).length).toBeLessThanOrEqual(99);
  });

  test("dq-05: a dead-letter topic that is the subscription's own holds the pipeline until it is mended", async () => {
    const { pubsub, topic, subscription } = await create();
    await pubsub.publish(topic, [{ data: Buffer.from('{"id":"abc"}') }]);
    const millrace = harness.start({ deadLetter: { topic } });
    const reasons = await held(millrace, "MISCONFIGURED");
    expect(reasons).toContain(`${topic} is the topic of ${subscription} itself`);
    // The message is still there for others, and has no copies.
    const [message, ...more] = await eventually("the message is not held", async () => {
      const received = await pubsub.take(subscription);
      return received.length > 0 ? received : undefined;
    });
    expect(message!.attributes).toEqual({});
    expect(more).toEqual([]);

    const other = `${topic}-other`;
    await pubsub.createTopic(other);
    await pubsub.deleteSubscription(subscription);
    await pubsub.createSubscription(subscription, other);
    await pubsub.publish(other, [{ data: Buffer.from('{"id":1}') }]);
    const { rows } = await harness.arrived(1, 0, 40_000);
    expect(rows).toMatchObject([{ id: "1" }]);
    expect(await millrace.stop()).toBe(0);
  }, 90_000);

  test("at the end nobody waits for a dead-letter topic that is missing: the messages are free at once", async () => {
    const { pubsub, subscription } = await create();
    await harness.publish(['{"id":1}', '{"id":"abc"}']);
    const millrace = harness.start({ deadLetter: { topic: `${harness.deadLetterTopic}-missing` } });
    await held(millrace, "NOT_FOUND");
    const start = performance.now();
    expect(await millrace.stop()).toBe(0);
    const free = await eventually("the message is there again", async () => {
      const received = await pubsub.take(subscription);
      return received.length > 0 ? received : undefined;
    });
    // The drain may take 30 s, and a message that is given back for good reason stays away for 10 s.
    expect(performance.now() - start).toBeLessThan(8000);
    expect(free.map(({ data }) => data.toString())).toEqual(['{"id":"abc"}']);
  }, 60_000);

  test("a breaker stops the pipeline before the topic is drained into dead letters", async () => {
    await create();
    const bad = Array.from({ length: 5000 }, (_, i) => `{"id":"x${i}"}`);
    await harness.publish(bad);
    const millrace = harness.start({
      breaker: { share: "50%", window: 100 },
      pull: { maxOutstandingMessages: 500 },
    });
    const reasons = await held(millrace, "TRIPPED");
    expect(reasons).toMatch(/of the last \d+ messages \(100\.0 %\) were refused: TYPE_MISMATCH \d+/);
    expect(await millrace.stop()).toBe(0);
    expect((await harness.deadLetters()).length).toBeLessThan(1000);
  });
});

describe("what needs faults of the embedded Pub/Sub", () => {
  let pubsub: PubSubEmulator;
  let bigquery: BigQueryEmulator;
  let harness: PipelineHarness;

  beforeAll(async () => {
    pubsub = await startPubSubEmulator();
    bigquery = await startBigQueryEmulator();
  });
  afterEach(async () => {
    pubsub.faults.replace([]);
    await harness.close();
  });
  afterAll(async () => {
    await pubsub.close();
    await bigquery.close();
  });

  const create = async (): Promise<PipelineHarness> => {
    harness = await PipelineHarness.create({ pubsub: `${pubsub.host}:${pubsub.port}`, bigquery }, fields);
    return harness;
  };

  test("a circle that cannot be seen ends after five letters, and the message stays", async () => {
    const { topic, subscription, pubsub: client } = await create();
    pubsub.faults.replace([{ method: "GetSubscription", call: "all", status: "PERMISSION_DENIED" }]);
    const watch = `${subscription}-watch`;
    await client.createSubscription(watch, topic);
    const [id] = await harness.publish(['{"id":"abc"}']);
    const millrace = await harness.start({ deadLetter: { topic } }).ready();
    await eventually("the message is given back", async () =>
      (await metric(millrace, "millrace_dead_letter_failures_total")) > 0 ? true : undefined,
    );
    expect(await metric(millrace, "millrace_dead_letters_total")).toBe(5);
    expect(await millrace.stop()).toBe(0);

    const seen = await client.take(watch);
    expect(seen).toHaveLength(6);
    const counts = new Set(seen.map(({ attributes }) => attributes["CloudPubSubDeadLetterSourceDeliveryCount"]));
    expect(counts).toEqual(new Set([undefined, "1", "2", "3", "4", "5"]));
    const copies = seen.filter(({ attributes }) => "millrace_message_id" in attributes);
    expect(new Set(copies.map(({ attributes }) => attributes["millrace_message_id"]))).toEqual(new Set([id]));
    const { outstanding, backlog } = pubsub.subscription(subscription);
    expect(outstanding + backlog).toBe(1);
    await client.deleteSubscription(watch);
  });

  test("with dedupe a message whose ack was lost has one row, without it two", async () => {
    const rowsWith = async (options: object): Promise<number> => {
      await create();
      pubsub.faults.replace([{ method: "Acknowledge", call: "all", status: "INVALID_ARGUMENT" }]);
      await harness.publish(Array.from({ length: 10 }, (_, i) => `{"id":${i}}`));
      const millrace = await harness.start(options).ready();
      await harness.arrived(10, 0);
      await eventually("the acks are given up", async () =>
        (await metric(millrace, "millrace_ack_failures_total")) >= 10 ? true : undefined,
      );
      pubsub.faults.replace([]);
      await eventually(
        "the messages came again and are acked",
        () => {
          const { outstanding, backlog } = pubsub.subscription(harness.subscription);
          return outstanding + backlog === 0 ? true : undefined;
        },
        30_000,
      );
      const skipped = await metric(millrace, "millrace_duplicates_skipped_total");
      expect(await millrace.stop()).toBe(0);
      const rows = bigquery.rowCount(harness.table);
      expect(rows + skipped).toBe(20);
      return rows;
    };
    expect(await rowsWith({ dedupe: { window: "10m" } })).toBe(10);
    await harness.close();
    expect(await rowsWith({})).toBe(20);
  }, 120_000);
});
