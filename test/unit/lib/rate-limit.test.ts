import { expect, test } from "vitest";
import { RateLimit } from "../../../src/lib/rate-limit.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

test("one per interval, and how many were held back before it", async () => {
  const clock = new VirtualClock();
  const limit = new RateLimit(clock, 1000);
  expect(limit.admit()).toBe(0);
  expect(limit.admit()).toBeUndefined();
  await clock.advance(999);
  expect(limit.admit()).toBeUndefined();
  clock.jump(-86_400_000);
  await clock.advance(1);
  expect(limit.admit()).toBe(2);
  await clock.advance(1000);
  expect(limit.admit()).toBe(0);
});
