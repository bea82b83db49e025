import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { IdMemory } from "../../../src/dedupe/id-memory.ts";
import { propertySeed } from "../../support/property-seed.ts";

function open(changes: { maxIds?: number; maxUnderWay?: number } = {}): IdMemory {
  return new IdMemory({ windowMs: 60_000, maxIds: 1000, maxUnderWay: 1000, ...changes });
}

/** Enters an ID that is not known and settles it. */
function settle(memory: IdMemory, id: string): void {
  const entry = memory.enter(id);
  expect(entry).toBeGreaterThanOrEqual(0);
  memory.remember(entry, 0);
}

/** An ID is known; one that is not stays so. */
function knows(memory: IdMemory, id: string): boolean {
  const entry = memory.enter(id);
  if (entry < 0) return true;
  memory.forget(entry);
  return false;
}

describe("an ID", () => {
  test("is under way, then settled, and has the same entry all the time", () => {
    const memory = open();
    const entry = memory.enter("12345678901234567");
    expect(memory.isUnderWay(entry)).toBe(true);
    expect(memory.enter("12345678901234567")).toBe(~entry);
    memory.remember(entry, 0);
    expect(memory.isUnderWay(entry)).toBe(false);
    expect(memory.enter("12345678901234567")).toBe(~entry);
    expect(memory.settled).toBe(1);
  });

  test("that was given back is new again", () => {
    const memory = open();
    memory.forget(memory.enter("5"));
    expect(knows(memory, "5")).toBe(false);
  });

  test("is remembered for the window, counted from its settlement", () => {
    const memory = open();
    const entry = memory.enter("1");
    memory.expire(3_600_000);
    memory.remember(entry, 3_600_000);
    memory.expire(3_659_999);
    expect(knows(memory, "1")).toBe(true);
    memory.expire(3_660_000);
    expect(knows(memory, "1")).toBe(false);
  });

  test("is not mistaken for another: text, leading zeros and numbers beyond 64 bits are IDs of their own", () => {
    const memory = open();
    const ids = ["7", "07", "007", "x", "18446744073709551616", "0", "", "é"];
    for (const id of ids) settle(memory, id);
    expect(memory.settled).toBe(ids.length);
    for (const id of ids) expect(knows(memory, id)).toBe(true);
    expect(knows(memory, "00")).toBe(false);
  });
});

test("the IDs that were settled first are forgotten first", () => {
  const memory = open({ maxIds: 3 });
  for (const id of ["1", "text", "3", "4", "5"]) settle(memory, id);
  expect(memory.settled).toBe(3);
  expect(["1", "text", "3", "4", "5"].filter((id) => knows(memory, id))).toEqual(["3", "4", "5"]);
});

test("more may be under way than was thought", () => {
  const memory = open({ maxIds: 1, maxUnderWay: 2 });
  const entries = Array.from({ length: 1000 }, (_, i) => memory.enter(String(i)));
  expect(new Set(entries).size).toBe(1000);
  expect(entries.every((entry, i) => memory.enter(String(i)) === ~entry)).toBe(true);
});

test("a million IDs take at most 40 bytes each", () => {
  const memory = open({ maxIds: 1_000_000, maxUnderWay: 20_000 });
  // 1,020,000 entries of 20 bytes, and 2^21 slots of 4 bytes.
  expect(memory.byteLength).toBe(1_020_000 * 20 + 2 ** 21 * 4);
  expect(memory.byteLength / 1_000_000).toBeLessThan(40);
});

test(`whatever is entered, settled, given back and forgotten: it knows what a plain list knows (seed ${propertySeed})`, () => {
  const step = record({ id: integer({ min: 0, max: 60 }), fate: constantFrom("settle", "give back", "wait") });
  assert(
    property(array(step, { maxLength: 400 }), (steps) => {
      const memory = open({ maxIds: 12, maxUnderWay: 4 });
      const underWay = new Map<string, number>();
      const settled: string[] = [];
      for (const { id: number, fate } of steps) {
        const id = number % 7 === 0 ? `text-${number}` : String(number * 4_294_967_296);
        const entry = underWay.get(id) ?? memory.enter(id);
        expect(entry < 0).toBe(settled.includes(id));
        if (entry < 0) continue;
        underWay.delete(id);
        if (fate === "wait") underWay.set(id, entry);
        else if (fate === "give back") memory.forget(entry);
        else {
          memory.remember(entry, 0);
          settled.push(id);
          if (settled.length > 12) settled.shift();
        }
        expect(memory.settled).toBe(settled.length);
      }
    }),
    { seed: propertySeed, numRuns: 500 },
  );
});
