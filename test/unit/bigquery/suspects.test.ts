import { expect, test } from "vitest";
import { AppendRequest } from "../../../src/bigquery/append-request.ts";
import { Parking } from "../../../src/bigquery/parking.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { Suspects } from "../../../src/bigquery/suspects.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const limits = { maxBytes: 100, maxRows: 10, maxRequestBytes: 1000 };

function suspects(): {
  clock: VirtualClock;
  parking: Parking;
  all: Suspects;
  retried: [number, AppendRequest][];
  resumed: AppendRequest[];
} {
  const clock = new VirtualClock();
  const parking = new Parking(clock);
  const retried: [number, AppendRequest][] = [];
  const resumed: AppendRequest[] = [];
  const all = new Suspects({
    clock,
    parking,
    retry: (request) => retried.push([clock.monotonic(), request]),
    resume: (requests) => resumed.push(...requests),
  });
  return { clock, parking, all, retried, resumed };
}

const requestOf = (order: number): AppendRequest =>
  new AppendRequest(new PendingRows(new RowBatch(limits), new FakeTranscoder(), () => undefined), order, 0);

test("one at a time is tried again, in turn, after pauses that grow with the time up to five seconds", async () => {
  const { clock, all, retried, parking } = suspects();
  const requests = [requestOf(0), requestOf(1), requestOf(2)];
  for (const request of requests) all.add(request);
  expect(parking.batches).toBe(3);
  for (let step = 0; step < 600; step++) {
    await clock.advance(100);
    // What was tried comes back at once.
    for (const [, request] of retried.slice(-1)) if (![...parking.requests()].includes(request)) all.add(request);
  }
  const pauses = retried.slice(1).map(([at], i) => at - retried[i]![0]);
  expect(pauses.slice(0, 3).every((pause) => pause >= 100 && pause <= 300)).toBe(true);
  expect(pauses.slice(-5)).toEqual([5000, 5000, 5000, 5000, 5000]);
  const turns = retried.map(([, { order }]) => order);
  expect(turns).toEqual(turns.map((_, i) => i % 3));
});

test("once rows are stored, those go on that this says something about", async () => {
  const { clock, all, retried, resumed, parking } = suspects();
  const [first, second] = [requestOf(0), requestOf(1)];
  all.add(first);
  all.add(second);
  expect(all.lasting).toBe(false);
  all.taken((request) => request === second);
  expect(resumed).toEqual([second]);
  expect([...parking.requests()]).toEqual([first]);
  await clock.advance(100);
  expect(retried.map(([, request]) => request)).toEqual([first]);
});

test("it is worth telling when nothing was stored for five seconds; closed, it keeps no timer", async () => {
  const { clock, all } = suspects();
  all.add(requestOf(0));
  await clock.advance(4999);
  expect(all.lasting).toBe(false);
  await clock.advance(1);
  expect(all.lasting).toBe(true);
  all.taken(() => false);
  expect(all.lasting).toBe(false);
  all.add(requestOf(1));
  all.close();
  expect(clock.pending).toBe(0);
});
