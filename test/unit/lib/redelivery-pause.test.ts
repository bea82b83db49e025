import { expect, test } from "vitest";
import { RedeliveryPause } from "../../../src/lib/redelivery-pause.ts";

test("a message stays away for 10 s, then twice as long each time, at most 10 minutes", () => {
  const pause = new RedeliveryPause();
  const pauses = Array.from({ length: 8 }, () => pause.next("m1"));
  expect(pauses).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000]);
  expect(pause.next("m2")).toBe(10_000);
});

test("beyond what it remembers, the message that has not come for longest begins anew", () => {
  const pause = new RedeliveryPause(2);
  pause.next("m1");
  pause.next("m2");
  pause.next("m1");
  pause.next("m3");
  expect([pause.next("m1"), pause.next("m2")]).toEqual([40_000, 10_000]);
});
