import { beforeEach, expect, test } from "vitest";
import type { AppendObserver } from "../../../src/bigquery/append-observer.ts";
import { AppendRequest } from "../../../src/bigquery/append-request.ts";
import { DelayedRetries } from "../../../src/bigquery/delayed-retries.ts";
import { unavailable } from "../../../src/bigquery/holds.ts";
import { Parking } from "../../../src/bigquery/parking.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const observer = new Proxy({} as AppendObserver, { get: () => () => undefined });
let clock: VirtualClock;
let retries: DelayedRetries;
/** When the request went again, in milliseconds. */
let times: number[];

/** So often it will fail again. */
let left: number;

/** A request fails so often in a row. */
function failing(often: number): void {
  left = often - 1;
  const rows = new RowBatch({ maxBytes: 100, maxRows: 10, maxRequestBytes: 1000 });
  retries.add(
    new AppendRequest(new PendingRows(rows, new FakeTranscoder(), () => undefined), 0, 0),
    unavailable,
    "schema",
  );
}

beforeEach(() => {
  clock = new VirtualClock();
  times = [];
  retries = new DelayedRetries({
    clock,
    observer,
    random: () => 1,
    parking: new Parking(clock),
    again: (request) => {
      times.push(clock.monotonic());
      if (left-- > 0) retries.add(request, unavailable, "schema");
    },
  });
});

test("pauses double up to five seconds; the fourth failure in a row is worth telling, until rows are stored", async () => {
  failing(8);
  await clock.advance(300);
  expect(retries.trouble).toBeUndefined();
  await clock.advance(400);
  expect(retries.trouble).toBe(unavailable);
  retries.stored();
  expect(retries.trouble).toBeUndefined();
  await clock.advance(60_000);
  expect(times.map((time, i) => time - (times[i - 1] ?? 0))).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  expect(clock.pending).toBe(0);
});

test("while others are stored it is worth telling only after a minute", async () => {
  retries.stored();
  failing(20);
  for (let second = 0; second < 60; second++) {
    await clock.advance(1000);
    retries.stored();
    expect(retries.trouble).toBeUndefined();
  }
  await clock.advance(10_000);
  expect(retries.trouble).toBe(unavailable);
});
