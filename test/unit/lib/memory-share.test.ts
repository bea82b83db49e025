import { describe, expect, test } from "vitest";
import { MemoryShare, sharesOf } from "../../../src/lib/memory-share.ts";

test("what a pipeline may hold is dealt out whole: five eighths, a quarter, an eighth", () => {
  expect(sharesOf(800)).toEqual({ messages: 500, rows: 200, letters: 100 });
  // What does not divide goes to the messages.
  expect(sharesOf(15)).toEqual({ messages: 11, rows: 3, letters: 1 });
});

describe("a share", () => {
  test("has room until it is used up, and again when enough is given back", () => {
    const share = new MemoryShare(10);
    share.charge(9);
    expect(share.hasRoom).toBe(true);
    share.charge(5);
    expect(share.hasRoom).toBe(false);
    share.discharge(4);
    expect(share.hasRoom).toBe(false);
    share.discharge(1);
    expect(share.hasRoom).toBe(true);
  });

  test("lets work in that is larger than itself, one piece at a time", async () => {
    const share = new MemoryShare(10);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const work = (name: string, bytes: number): Promise<void> =>
      share.take(() => {
        begun.push(name);
        return { bytes, done: new Promise((resolve) => void ends.set(name, resolve)) };
      });
    const all = [work("first", 100), work("second", 100), work("third", 4), work("fourth", 4)];
    await Promise.resolve();
    expect(begun).toEqual(["first"]);
    ends.get("first")!();
    await all[0];
    expect(begun).toEqual(["first", "second"]);
    ends.get("second")!();
    await all[1];
    expect(begun).toEqual(["first", "second", "third", "fourth"]);
    ends.get("third")!();
    ends.get("fourth")!();
    await Promise.all(all);
    expect(share.hasRoom).toBe(true);
  });

  test("gives back what failed work took", async () => {
    const share = new MemoryShare(10);
    await expect(share.take(() => ({ bytes: 50, done: Promise.reject(new Error("no")) }))).rejects.toThrow("no");
    expect(share.hasRoom).toBe(true);
  });
});
