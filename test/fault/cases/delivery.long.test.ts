/** Those cases of delivery.test.ts that take more than seconds. */
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { probed } from "../../support/millrace-process.ts";
import { World } from "../world.ts";

test("de-08 Event loop starved, acks stop", { timeout: 120_000 }, async () => {
  const messages = 20_000;
  const columns = [
    { name: "id", type: "INT64" },
    { name: "doc", type: "JSON" },
    { name: "n", type: "NUMERIC", mode: "REPEATED" },
  ];
  const world = await World.open({
    columns,
    nodeOptions: probed,
    pipeline: { pull: { maxOutstandingMessages: 1000 } },
  });
  onTestFinished(() => world.close());
  const nested = { a: { b: { c: ["x".repeat(200), { d: "y".repeat(200) }] } }, e: "z".repeat(2000) };
  const n = Array.from({ length: 100 }, (_, i) => `${i}.${i}25`);
  const millrace = await world.start().ready();
  await millrace.probe();
  for (let slice = 0; slice < messages / 1000; slice++) {
    const load = Array.from({ length: 1000 }, () =>
      world.ledger.publish("good", "", { doc: nested, n, name: undefined }),
    );
    world.publish(load);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 90_000);
  const { loopLagP99 } = await millrace.probe();
  const deliveries = world.pubsub.faults.calls("StreamingPull.message");
  expect(await world.stop()).toBe(0);
  const rss = Math.round(world.rssMax / 2 ** 20);
  process.stdout.write(`de-08: event loop lag p99 ${loopLagP99.toFixed(0)} ms, RSS at most ${rss} MB\n`);
  expect(world.rows).toBe(messages);
  expect(deliveries).toBe(messages);
  expect(loopLagP99).toBeLessThan(500);
  expect(rss).toBeLessThan(400);
});
