import * as fc from "fast-check";
import { expect, test } from "vitest";
import { unchain, type Chain, type Chained } from "../../../../src/emulator/pubsub/chain.ts";
import { DeadlineQueue } from "../../../../src/emulator/pubsub/deadline-queue.ts";
import { propertySeed } from "../../../support/property-seed.ts";

class Item implements Chained {
  chain: Chain<Chained> | undefined;
  previous: Chained | undefined;
  next: Chained | undefined;
  readonly atMs: number;

  constructor(atMs: number) {
    this.atMs = atMs;
  }
}

function drain(queue: DeadlineQueue<Item>, nowMs: number): number[] {
  const due: number[] = [];
  for (let item = queue.shiftDue(nowMs); item; item = queue.shiftDue(nowMs)) due.push(item.atMs);
  return due;
}

test("items fall due at their time, rounded up to 10 ms", () => {
  const queue = new DeadlineQueue<Item>();
  queue.schedule(new Item(101), 101);
  expect(queue.nextAtMs()).toBe(110);
  expect(drain(queue, 109)).toEqual([]);
  expect(drain(queue, 110)).toEqual([101]);
  expect(queue.nextAtMs()).toBe(Infinity);
});

test("an item taken out leaves nothing behind", () => {
  const queue = new DeadlineQueue<Item>();
  const [early, late] = [new Item(10), new Item(20)];
  queue.schedule(early, 10);
  queue.schedule(late, 20);
  unchain(early);
  expect(queue.nextAtMs()).toBe(20);
  expect(drain(queue, 100)).toEqual([20]);
});

test(`items come as a sort would have them, PROPERTY_SEED=${propertySeed}`, () => {
  const times = fc.array(fc.record({ at: fc.nat({ max: 500 }).map((n) => n * 10), removed: fc.boolean() }));
  fc.assert(
    fc.property(times, fc.nat({ max: 5000 }), (scheduled, now) => {
      const queue = new DeadlineQueue<Item>();
      const items = scheduled.map(({ at }) => new Item(at));
      for (const item of items) queue.schedule(item, item.atMs);
      for (const [i, item] of items.entries()) if (scheduled[i]!.removed) unchain(item);
      const kept = scheduled.filter(({ removed }) => !removed).map(({ at }) => at);
      const sorted = kept.toSorted((a, b) => a - b);
      expect(drain(queue, now)).toEqual(sorted.filter((at) => at <= now));
      expect(queue.nextAtMs()).toBe(sorted.find((at) => at > now) ?? Infinity);
      expect(drain(queue, 5000)).toEqual(sorted.filter((at) => at > now));
    }),
    { seed: propertySeed, numRuns: 500 },
  );
});
