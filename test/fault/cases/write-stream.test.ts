/** Cases that users of other writers have reported: write streams. Their list is test/fixtures/public-cases.json. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Stage } from "../stage.ts";

const range = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

function ids(stage: Stage): number[] {
  return stage.rows.map((row) => Number(row["id"])).sort((a, b) => a - b);
}

function distinctIds(stage: Stage): number[] {
  return [...new Set(ids(stage))];
}

const oneAtATime = { batch: { maxRows: 1 }, append: { maxInFlight: 1, maxConnections: 1 } };

test("ws-02 Append at the moment the stream is being destroyed", async () => {
  const stage = await Stage.running({
    pipeline: oneAtATime,
    faults: { bigquery: [{ method: "AppendRows", every: 20, reset: "after" }] },
  });
  for (const id of range(1, 100)) {
    stage.publishNumbered(id, id);
    await stage.clock.advance(20, 10);
  }
  await stage.settled();
  expect(distinctIds(stage)).toEqual(range(1, 100));
  // Doubled are at most the appends whose answers were lost: one each time.
  expect(stage.rowCount).toBeLessThanOrEqual(100 + Math.floor(stage.bigquery.appendRequests / 20));
  expect(stage.letters).toEqual([]);
});

test("ws-03 Throttled: UNAVAILABLE, task overloaded", async () => {
  // Every random pause is as long as it may be.
  const chance = vi.spyOn(Math, "random").mockReturnValue(0.999);
  onTestFinished(() => chance.mockRestore());
  const stage = await Stage.running({
    faults: { bigquery: [{ method: "AppendRows", call: "1-6", status: "UNAVAILABLE", message: "Task is overloaded" }] },
  });
  stage.publishNumbered(1, 1);
  const times = await stage.appendTimes(120_000);
  expect(ids(stage)).toEqual([1]);
  expect(stage.letters).toEqual([]);
  expect(times).toHaveLength(7);
  const pauses = times.slice(1).map((at, i) => at - times[i]!);
  for (const [i, pause] of pauses.slice(1).entries()) expect(pause).toBeGreaterThan(1.5 * pauses[i]!);
  expect(stage.deliveries).toBe(1);
  expect(stage.unsettled).toBe(0);
});

test("ws-04 Quota: RESOURCE_EXHAUSTED on append", async () => {
  const stage = await Stage.running({
    faults: { bigquery: [{ method: "AppendRows", untilMs: 15_000, status: "RESOURCE_EXHAUSTED" }] },
    pipeline: { pull: { maxOutstandingMessages: 20 } },
  });
  stage.publishNumbered(1, 50);
  const times = await stage.appendTimes(14_000);
  expect(stage.rowCount).toBe(0);
  expect(stage.status.state).toBe("THROTTLED");
  expect(stage.subscription.backlog).toBeGreaterThanOrEqual(30);
  // What was in flight at first, and then fewer than one a second.
  expect(times.filter((at) => at > 1000).length).toBeLessThanOrEqual(13);
  await stage.settled(600_000, 100);
  expect(ids(stage)).toEqual(range(1, 50));
  expect(stage.letters).toEqual([]);
});

describe("ws-05 Permanent errors must not be retried for ever", () => {
  const [status, message] = ["INVALID_ARGUMENT", "proto field mismatched with BigQuery field at name"] as const;

  test.each([
    ["as the answer to a request", { method: "AppendRows", error: { status, message } }],
    ["as the end of the connection", { method: "AppendRows", status, message }],
  ] as const)("%s", async (_, fault) => {
    const stage = await Stage.running({ faults: { bigquery: [fault] } });
    stage.publishNumbered(1, 1);
    await stage.clock.advance(600_000, 100);
    expect(stage.rowCount).toBe(0);
    expect(stage.bigquery.faults.calls("tables.get")).toBeGreaterThanOrEqual(2);
    // Every 2.5 s on average: from the mend until rows flow again it must not take longer than ten seconds.
    expect(stage.bigquery.appendRequests).toBeLessThanOrEqual(400);
    // It is the table, and not the message: that is held, and a person is told what is wrong.
    expect(stage.letters).toEqual([]);
    expect(stage.unsettled).toBe(1);
    expect(stage.status.state).toBe("SCHEMA_MISMATCH");
    expect(stage.status.reason).toContain("acme.sales.orders");
  });
});

test("ws-06 Missing permission or table: tell it plainly", async () => {
  const message = "Permission bigquery.tables.updateData denied";
  const stage = await Stage.running({
    faults: { bigquery: [{ method: "AppendRows", status: "PERMISSION_DENIED", message }] },
  });
  stage.publishNumbered(1, 1);
  await stage.clock.advance(600_000, 100);
  expect(stage.unsettled).toBe(1);
  expect(stage.letters).toEqual([]);
  expect(stage.status.state).toBe("PERMISSION_DENIED");
  const told = stage.log.find(({ state }) => state === "PERMISSION_DENIED")!["reason"];
  for (const text of [stage.status.reason, told]) {
    expect(text).toContain("acme.sales.orders");
    expect(text).toContain("bigquery.tables.updateData");
  }
  expect(stage.bigquery.appendRequests).toBeLessThanOrEqual(400);
  expect(stage.deliveries).toBe(1);
});

test("ws-07 Transient error that never ends", async () => {
  const stage = await Stage.running({
    faults: { bigquery: [{ method: "AppendRows", untilMs: 300_000, status: "INTERNAL" }] },
    pipeline: { pull: { maxOutstandingMessages: 500 } },
  });
  stage.publishNumbered(1, 2000);
  let held = 0;
  const states = new Set<string>();
  for (let second = 0; second < 299; second++) {
    await stage.clock.advance(1000, 250);
    held = Math.max(held, stage.status.outstanding, stage.subscription.outstanding);
    states.add(stage.status.state);
  }
  expect(held).toBe(500);
  expect(states).toContain("UNAVAILABLE");
  expect(stage.rowCount).toBe(0);
  await stage.settled();
  expect(distinctIds(stage)).toEqual(range(1, 2000));
  expect(stage.letters).toEqual([]);
  expect(stage.status.state).toBe("ACTIVE");
});

test("ws-08 Append reported as failed but in fact written", async () => {
  const stage = await Stage.running({
    faults: { bigquery: [{ method: "AppendRows", call: 1, disconnect: "after" }] },
  });
  stage.publishNumbered(1, 1);
  await stage.settled();
  expect(distinctIds(stage)).toEqual([1]);
  expect(stage.rowCount).toBeLessThanOrEqual(2);
  expect(stage.letters).toEqual([]);
});

describe("ws-09 Offset answers on an application-made stream", () => {
  const delivery = { delivery: "exactlyOnce", ...oneAtATime };

  test("the answer to an append that took effect is lost", async () => {
    const stage = await Stage.running({
      pipeline: delivery,
      faults: { bigquery: [{ method: "AppendRows", call: 1, disconnect: "after" }] },
    });
    stage.publishNumbered(1, 1);
    await stage.settled();
    stage.publishNumbered(2, 2);
    await stage.settled();
    expect(ids(stage)).toEqual([1, 2]);
    // The first, its repetition, and the second.
    expect(stage.bigquery.appendRequests).toBe(3);
  });

  test("the server is not as far as the writer thinks", async () => {
    const error = {
      status: "OUT_OF_RANGE",
      message: "The offset is beyond the end",
      storageError: "OFFSET_OUT_OF_RANGE",
    };
    const stage = await Stage.running({
      pipeline: delivery,
      faults: { bigquery: [{ method: "AppendRows", call: 2, error: { ...error, status: "OUT_OF_RANGE" } }] },
    });
    stage.publishNumbered(1, 3);
    await stage.settled();
    expect(ids(stage)).toEqual([1, 2, 3]);
  });
});

test("ws-10 Rows in flight when the writer is replaced", async () => {
  const stage = await Stage.running({
    pipeline: { batch: { maxRows: 5 }, append: { maxInFlight: 6, maxConnections: 1 } },
    faults: {
      bigquery: [
        { method: "AppendRows", call: 1, delayMs: 500 },
        { method: "AppendRows", call: 3, error: { status: "INTERNAL", message: "Scripted refusal" } },
        { method: "AppendRows", call: 4, status: "UNAVAILABLE" },
      ],
    },
  });
  stage.publishNumbered(1, 30);
  await stage.clock.advance(200, 10);
  // Those behind the end of the stream have no effect.
  expect(stage.bigquery.appendRequests).toBeGreaterThanOrEqual(4);
  const isAcked = (): boolean => stage.unsettled < 30;
  await stage.clock.until("something is acked", isAcked, 60_000, 10);
  expect(distinctIds(stage).length).toBeGreaterThanOrEqual(30 - stage.unsettled);
  await stage.settled();
  expect(distinctIds(stage)).toEqual(range(1, 30));
  expect(stage.letters).toEqual([]);
});

test("ws-11 Idle time must not eat the retry budget", async () => {
  const stage = await Stage.running();
  stage.publishNumbered(0, 0);
  await stage.settled();
  // The service closes the connection after 600 s.
  await stage.clock.advance(2 * 3_600_000, 1000);
  stage.bigquery.faults.replace([{ method: "AppendRows", call: 1, status: "UNAVAILABLE" }]);
  stage.publishNumbered(1, 1);
  await stage.settled();
  expect(ids(stage)).toEqual([0, 1]);
  expect(stage.letters).toEqual([]);
  expect(stage.status.state).toBe("ACTIVE");
});
