import { expect, test } from "vitest";
import { RateLimit } from "../../../../src/emulator/bigquery/rate-limit.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

test("so much within the time, and room again as time goes by", async () => {
  const clock = new VirtualClock();
  const limit = new RateLimit(clock, 100, 1000);
  expect([limit.take(60), limit.take(40), limit.take(1)]).toEqual([true, true, false]);
  await clock.advance(100);
  expect([limit.take(11), limit.take(10), limit.take(1)]).toEqual([false, true, false]);
  await clock.advance(5000);
  expect([limit.take(100), limit.take(1)]).toEqual([true, false]);
});

test("more than the limit itself passes when nothing stands before it, and is paid for after", async () => {
  const clock = new VirtualClock();
  const limit = new RateLimit(clock, 100, 1000);
  expect([limit.take(300), limit.take(1)]).toEqual([true, false]);
  await clock.advance(2010);
  expect([limit.take(2), limit.take(1)]).toEqual([false, true]);
});

test("without a limit everything passes", () => {
  const limit = new RateLimit(new VirtualClock(), Infinity, 1000);
  expect([limit.take(1e15), limit.take(1e15)]).toEqual([true, true]);
});
