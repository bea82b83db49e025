/** Ordering keys under failures: the rows of a key come in order, and none before an earlier one of its key. */
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { World } from "../world.ts";

const keys = 1000;
const perKey = 50;

test(`${keys} keys with ${perKey} messages each, under failures of every kind`, { timeout: 240_000 }, async () => {
  const world = await World.open({
    subscription: { enableMessageOrdering: true },
    pipeline: {
      batch: { maxRows: 500, maxDelay: "5ms" },
      append: { maxInFlight: 4, minConnections: 3, maxConnections: 3 },
      pull: { streams: 2 },
    },
    faults: {
      bigquery: [
        { method: "AppendRows", every: 11, status: "UNAVAILABLE" },
        { method: "AppendRows", every: 17, disconnect: "before" },
        { method: "AppendRows", every: 23, disconnect: "after" },
        { method: "AppendRows", every: 13, error: { status: "ABORTED", message: "Scripted refusal" } },
        { method: "AppendRows", every: 7, delayMs: 40 },
        { method: "AppendRows", rowErrorsContaining: { bytes: "0899b801", message: "not 23577", atMost: 1 } },
      ],
      pubsub: [
        { method: "Acknowledge", every: 5, status: "UNAVAILABLE" },
        { method: "StreamingPull.deliver", every: 9, status: "UNAVAILABLE", done: true },
      ],
    },
  });
  world.start();
  for (let round = 0; round < perKey; round++) {
    world.publish(Array.from({ length: keys }, (_, key) => world.ledger.publish("good", `key-${key}`)));
  }
  const published = world.ledger.entries.length;
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 200_000);
  expect(await world.stop()).toBe(0);
  world.settleLedger();
  await world.close();
  const { ledger } = world;
  process.stdout.write(
    `${published} messages of ${keys} keys, ${world.bigquery.appendRequests} append requests: ${ledger.lost.length} lost, ${ledger.extraRows.count} duplicates, ${ledger.disordered.length} out of order\n`,
  );
  expect(ledger.lost.length).toBe(0);
  expect(ledger.disordered.length).toBe(0);
});
