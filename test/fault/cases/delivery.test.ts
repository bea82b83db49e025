/** Cases that users of other consumers have reported: delivery. Their list is test/fixtures/public-cases.json. */
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { Stage } from "../stage.ts";
import { World } from "../world.ts";

test("de-02 Extending thousands of leases at once", async () => {
  const messages = 6000;
  const stage = await Stage.running({
    pipeline: {
      pull: { maxOutstandingMessages: 8000 },
      leases: { minDurationPerAckExtension: "10s", maxDurationPerAckExtension: "10s" },
    },
    faults: { bigquery: [{ method: "AppendRows", delayMs: 30_000 }] },
  });
  stage.publishNumbered(1, messages);
  await stage.clock.until("all are held", () => stage.status.outstanding === messages, 5000);
  await stage.settled();
  expect(stage.rowCount).toBe(messages);
  // No lease ran out.
  expect(stage.deliveries).toBe(messages);
  // At most 2,500 IDs a request, and of 10 s each lease has 5 for its extension and a second try.
  const perRound = Math.ceil(messages / 2500);
  const [extensions, acks] = ["ModifyAckDeadline", "Acknowledge"].map((method) => stage.pubsub.faults.calls(method));
  expect(extensions).toBeGreaterThanOrEqual(3 * perRound);
  expect(extensions).toBeLessThanOrEqual(7 * perRound);
  expect(acks).toBeGreaterThanOrEqual(perRound);
});

test("de-03 Slots freed when a lease runs out", async () => {
  const [limit, messages] = [100, 5000];
  const stage = await Stage.running({
    pipeline: { pull: { maxOutstandingMessages: limit }, leases: { maxAckExtensionPeriod: "15s" } },
    faults: { bigquery: [{ method: "AppendRows", untilMs: 120_000, delayMs: 120_000 }] },
  });
  stage.publishNumbered(1, messages);
  await stage.clock.advance(119_000, 250);
  // Leases have ended, and Pub/Sub sends messages again; but no append has its answer, so nothing more is taken.
  expect(stage.deliveries).toBeGreaterThan(limit);
  expect(stage.status.received).toBe(limit);
  expect(stage.status.outstanding).toBe(limit);
  await stage.settled(240_000);
  expect(new Set(stage.rows.map((row) => row["id"])).size).toBe(messages);
  expect(stage.letters).toEqual([]);
});

test("de-04 Ack refused under exactly-once delivery", async () => {
  const world = await World.open({
    subscription: { enableExactlyOnceDelivery: true },
    faults: {
      pubsub: [
        { method: "Acknowledge", call: 1, ackErrors: { code: "TRANSIENT_FAILURE_OTHER" } },
        { method: "Acknowledge", call: 2, ackErrors: { code: "PERMANENT_FAILURE_INVALID_ACK_ID" } },
      ],
    },
  });
  onTestFinished(() => world.close());
  const millrace = await world.start().ready();
  world.publish([world.ledger.publish("good")]);
  await eventually("the refused ack is counted", async () => {
    const text = await (await fetch(`${await millrace.url()}/metrics`)).text();
    return /^millrace_ack_failures_total\{.*kind="ack".*\} 1$/m.test(text) || undefined;
  });
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined));
  expect(await world.stop()).toBe(0);
  world.settleLedger();
  // The lease had ended: the message comes again, and without dedupe so does its row.
  expect(world.ledger.entries).toMatchObject([{ rows: 2, letters: 0 }]);
  // The transient failure is tried again, the permanent one is not: the third is that of the new delivery.
  expect(world.pubsub.faults.calls("Acknowledge")).toBe(3);
});

test("de-06 Poison messages use up all slots", async () => {
  const stage = await Stage.running({ pipeline: { pull: { maxOutstandingMessages: 20 } }, deadLetters: "nowhere" });
  stage.publish(Array.from({ length: 50 }, (_, i) => ({ data: `not JSON ${i}` })));
  stage.publishNumbered(1, 50);
  await stage.clock.advance(30_000);
  expect(new Set(stage.rows.map((row) => row["id"])).size).toBe(50);
  await stage.clock.advance(30_000);
  const firstMinute = stage.deliveries - 50;
  await stage.clock.advance(9 * 60_000);
  const before = stage.deliveries;
  await stage.clock.advance(60_000);
  const eleventhMinute = stage.deliveries - before;
  expect(stage.status.refused["MALFORMED_PAYLOAD"]).toBeGreaterThanOrEqual(50);
  expect(firstMinute).toBeLessThan(50 * 10);
  expect(eleventhMinute).toBeLessThan(firstMinute);
  expect(stage.rowCount).toBe(50);
  expect(stage.unsettled).toBe(50);
});

test("de-07 Order kept when an earlier append is retried", async () => {
  const stage = await Stage.running({
    subscription: { enableMessageOrdering: true },
    pipeline: { batch: { maxRows: 1 } },
    faults: { bigquery: [{ method: "AppendRows", call: 2, status: "UNAVAILABLE" }] },
  });
  const names = ["v1", "v2", "v3", "v4", "v5"];
  stage.publish(names.map((name) => ({ data: JSON.stringify({ id: 1, name }), orderingKey: "k" })));
  await stage.settled();
  // A repetition after its original would be fine, a swap is not.
  expect([...new Set(stage.rows.map((row) => row["name"]))]).toEqual(names);
});
