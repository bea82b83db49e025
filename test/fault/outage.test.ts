/** BigQuery is away for hours of virtual time: what is held stays held, and nobody is pestered. */
import { expect, test } from "vitest";
import { Stage } from "./stage.ts";

const held = 20_000;
const outageMs = 90 * 60_000;
/** A request that is sent at the end of a step of the clock is answered in the next one: nobody looks nearer to the end than this. */
const marginMs = 1000;

test("BigQuery is away for 90 minutes: nothing lost, nothing dead-lettered, leases kept by one request a second at most", async () => {
  const faults = [
    { method: "AppendRows", status: "UNAVAILABLE", untilMs: outageMs },
    { method: "tables.get", status: "UNAVAILABLE", fromMs: 1000, untilMs: outageMs },
  ] as const;
  const stage = await Stage.open({
    faults: { bigquery: [...faults] },
    pipeline: { pull: { maxOutstandingMessages: held } },
  });
  await stage.start();
  stage.publishNumbered(1, 3 * held);
  const extensions = (): number => stage.pubsub.faults.calls("ModifyAckDeadline");
  let most = 0;
  let heldMost = 0;
  for (let second = 0; second < (outageMs - marginMs) / 1000; second++) {
    const before = extensions();
    await stage.clock.advance(1000, 500);
    most = Math.max(most, extensions() - before);
    heldMost = Math.max(heldMost, stage.status.outstanding);
  }
  const [inOutage, appendsInOutage] = [extensions(), stage.bigquery.appendRequests];
  expect(stage.rowCount).toBe(0);
  expect(stage.status.state).toBe("UNAVAILABLE");
  await stage.settled(60_000);
  const recovery = stage.clock.monotonic() - outageMs;
  process.stdout.write(
    `90 min of virtual outage: ${heldMost} of ${3 * held} messages held, ${inOutage} extension requests, at most ${most} a second; ${appendsInOutage} append requests; all written ${(recovery / 1000).toFixed(1)} s after its end\n`,
  );
  expect(new Set(stage.rows.map((row) => row["id"])).size).toBe(3 * held);
  expect(stage.rowCount).toBe(3 * held);
  expect(stage.letters).toEqual([]);
  // Each was handed out once: no lease ran out.
  expect(stage.pubsub.faults.calls("StreamingPull.message")).toBe(3 * held);
  expect(most).toBeLessThanOrEqual(1);
  // The pull may overshoot its limit by a response (1,000 messages).
  expect(heldMost).toBeLessThanOrEqual(held + 1000);
  // A probe every few seconds, none in a burst.
  expect(appendsInOutage).toBeLessThan(outageMs / 1000);
  expect(recovery).toBeLessThan(10_000);
  await stage.close();
}, 120_000);

test("an exactly-once subscription: leases kept by one request a second beside the receipts, every ack is taken", async () => {
  const [outage, held] = [30 * 60_000, 5000];
  const stage = await Stage.open({
    faults: { bigquery: [{ method: "AppendRows", status: "UNAVAILABLE", untilMs: outage }] },
    subscription: { enableExactlyOnceDelivery: true },
    pipeline: { pull: { maxOutstandingMessages: held } },
  });
  await stage.start();
  stage.publishNumbered(1, 2 * held);
  await stage.clock.advance(2000, 50);
  expect(stage.status.outstanding).toBe(held);
  const extensions = (): number => stage.pubsub.faults.calls("ModifyAckDeadline");
  let most = 0;
  for (let second = 2; second < (outage - marginMs) / 1000; second++) {
    const before = extensions();
    await stage.clock.advance(1000, 500);
    most = Math.max(most, extensions() - before);
  }
  expect(most).toBe(1);
  await stage.settled(60_000);
  expect(stage.rowCount).toBe(2 * held);
  expect(stage.deliveries).toBe(2 * held);
  await stage.close();
}, 120_000);

test("what may be held is limited by bytes: the service sends no more than is read, so no lease runs out", async () => {
  const [outage, messages] = [10 * 60_000, 20_000];
  const stage = await Stage.open({
    faults: { bigquery: [{ method: "AppendRows", status: "UNAVAILABLE", untilMs: outage }] },
    pipeline: { pull: { maxOutstandingBytes: "1MiB" } },
  });
  await stage.start();
  stage.publishNumbered(1, messages);
  await stage.clock.advance(outage - marginMs, 500);
  const { outstanding } = stage.status;
  expect(stage.subscription.outstanding).toBe(outstanding);
  expect(stage.subscription.backlog).toBe(messages - outstanding);
  await stage.settled();
  expect(stage.rowCount).toBe(messages);
  expect(stage.deliveries).toBe(messages);
  await stage.close();
});
