/** Cases that users of other consumers have reported: the end of a process. Their list is test/fixtures/public-cases.json. */
import { expect, onTestFinished, test } from "vitest";
import { World } from "../world.ts";

test("sr-02 Messages still arriving after close", async () => {
  const [messages, window] = [20_000, 200];
  const world = await World.open({
    pipeline: { pull: { maxOutstandingMessages: window }, batch: { maxRows: 20 } },
    faults: {
      bigquery: [{ method: "AppendRows", delayMs: 100 }],
      // What is on its way when the process is told to end arrives for two seconds more.
      pubsub: [{ method: "StreamingPull.deliver", fromMs: 3000, delayMs: 500 }],
    },
  });
  onTestFinished(() => world.close());
  world.publish(Array.from({ length: messages }, () => world.ledger.publish("good")));
  world.start();
  await world.millrace.url();
  await new Promise((resolve) => {
    setTimeout(resolve, 3000);
  });
  const stopped = performance.now();
  expect(await world.stop()).toBe(0);
  expect(performance.now() - stopped).toBeLessThan(20_000);
  // The last answers stand in the sockets.
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  const acked = messages - world.unsettled;
  expect(acked).toBeGreaterThan(0);
  expect(acked).toBeLessThan(messages);
  // Every acked message is a row and every row is acked: none of the late ones was acked.
  expect(world.rows).toBe(acked);
  expect(world.pubsub.faults.calls("StreamingPull.message") - acked).toBeLessThanOrEqual(window);
});
