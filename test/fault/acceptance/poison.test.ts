/** Many rows that BigQuery refuses, and answers that do not name them all: each bad one is found, no good one is blamed. */
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { refusedText } from "../ledger.ts";
import { World } from "../world.ts";

const messages = 10_000;
const bad = 300;
const bytes = Buffer.from(refusedText).toString("hex");

async function run(
  atMost: number,
): Promise<{ readonly world: World; readonly requests: number; readonly seconds: number }> {
  const rowErrorsContaining = { bytes, message: "This row is not wanted", atMost };
  const world = await World.open({ faults: { bigquery: [{ method: "AppendRows", rowErrorsContaining }] } });
  const every = Math.floor(messages / bad);
  world.publish(
    Array.from({ length: messages }, (_, i) => {
      return world.ledger.publish(i % every === every - 1 && i < bad * every ? "refused" : "good");
    }),
  );
  const start = performance.now();
  world.start();
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 150_000);
  const seconds = (performance.now() - start) / 1000;
  const requests = world.bigquery.appendRequests;
  expect(await world.stop()).toBe(0);
  world.settleLedger();
  await world.close();
  return { world, requests, seconds };
}

function expectEachInItsPlace({ ledger }: World): void {
  expect(ledger.lost.length).toBe(0);
  expect(ledger.misplaced.length).toBe(0);
  expect([ledger.extraRows.count, ledger.extraLetters.count]).toEqual([0, 0]);
  expect(ledger.entries.filter(({ rows }) => rows === 1)).toHaveLength(messages - bad);
  expect(ledger.entries.filter(({ letters }) => letters === 1)).toHaveLength(bad);
}

test(`${bad} of ${messages} refused, one of them named in each answer`, { timeout: 180_000 }, async () => {
  const { world, requests, seconds } = await run(1);
  // A batch is 1 MiB of rows at most; ours are smaller than one pull response, of which each has 1,000 messages at most.
  const batches = Math.ceil(messages / 1000) * 2;
  process.stdout.write(
    `one named: ${requests} append requests, ${(requests / bad).toFixed(2)} a bad row, ${seconds.toFixed(1)} s\n`,
  );
  expectEachInItsPlace(world);
  expect(requests).toBeLessThanOrEqual(1.2 * bad + batches);
});

test(`${bad} of ${messages} refused, none of them ever named`, { timeout: 180_000 }, async () => {
  const { world, requests, seconds } = await run(0);
  process.stdout.write(
    `none named: ${requests} append requests, ${(requests / bad).toFixed(2)} a bad row, ${seconds.toFixed(1)} s\n`,
  );
  expectEachInItsPlace(world);
  expect(requests).toBeLessThanOrEqual(16 * bad);
});
