import { describe, expect, test } from "vitest";
import { KeyReturns, ReturnsByGeneration } from "../../../src/source/key-returns.ts";

const minute = 60_000;

/** Messages of one batch are given back, and the service knows it. */
function back(returns: KeyReturns, key: string, ids: readonly string[], backAt: number, now: number): void {
  returns.giveBack(key, ids, backAt, 1, now);
  returns.returned(key, now);
}

test("what is not waited for goes on, and is not waited for afterwards", () => {
  const returns = new KeyReturns();
  expect(returns.admit("k", "m1", 0)).toBeUndefined();
  expect(returns.size).toBe(0);
});

describe("after messages were given back", () => {
  test("only the first of them goes on; what comes before its turn is given back until the pause is over", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m2", "m3"], 10_000, 0);
    expect(returns.admit("k", "m3", 2000)).toBe(10_000);
    expect(returns.admit("k", "m4", 3000)).toBe(10_000);
    expect(returns.admit("k", "m2", 10_000)).toBeUndefined();
    // The pause is over: for a second at least.
    expect(returns.admit("k", "m4", 10_001)).toBe(11_001);
    expect(returns.admit("k", "m3", 10_002)).toBeUndefined();
    expect(returns.admit("k", "m4", 10_003)).toBeUndefined();
    expect(returns.size).toBe(0);
  });

  test("other keys go on", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1"], 10_000, 0);
    expect(returns.admit("other", "m1", 1)).toBeUndefined();
    expect(returns.size).toBe(1);
  });

  test("what came too early keeps its place behind them", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1"], 0, 0);
    expect(returns.admit("k", "m2", 1)).toBe(1001);
    expect(returns.admit("k", "m3", 2)).toBe(1002);
    expect(returns.admit("k", "m1", 3)).toBeUndefined();
    expect(returns.admit("k", "m3", 4)).toBe(1004);
    expect(returns.admit("k", "m2", 5)).toBeUndefined();
    expect(returns.admit("k", "m3", 6)).toBeUndefined();
  });

  test("one that is given back again comes before those that are still waited for", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m2", "m3"], 10_000, 0);
    expect(returns.admit("k", "m2", 10_000)).toBeUndefined();
    back(returns, "k", ["m2"], 20_000, 10_050);
    // It is to wait for the new pause.
    expect(returns.admit("k", "m3", 10_100)).toBe(20_000);
    expect(returns.admit("k", "m2", 20_000)).toBeUndefined();
    expect(returns.admit("k", "m3", 20_001)).toBeUndefined();
  });
});

describe("the wait", () => {
  /** 60 s after the pause of 10 s. */
  test("ends a minute after the pause: the message went another way", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1"], 10_000, 0);
    expect(returns.admit("k", "m2", 10_000 + minute - 1)).toBe(10_000 + minute + 999);
    expect(returns.admit("k", "m2", 10_000 + minute)).toBeUndefined();
    expect(returns.size).toBe(0);
  });

  test("counts from the last that came", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1", "m2"], 0, 0);
    expect(returns.admit("k", "m1", 50_000)).toBeUndefined();
    expect(returns.admit("k", "m3", 50_000 + minute - 1)).toBe(50_000 + minute + 999);
    expect(returns.admit("k", "m3", 50_000 + minute)).toBeUndefined();
  });

  test("is as long as the longest pause, also when others are given back for less", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m2", "m3"], 600_000, 0);
    back(returns, "k", ["m1"], 1000, 500);
    expect(returns.admit("k", "m4", 599_999)).toBe(600_999);
  });

  test("goes on when one is given back for longer meanwhile", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1", "m2"], 0, 0);
    expect(returns.admit("k", "m1", 10)).toBeUndefined();
    back(returns, "k", ["m1"], 600_000, 20);
    expect(returns.admit("k", "m2", 2 * minute)).toBe(600_000);
    expect(returns.admit("k", "m1", 600_000)).toBeUndefined();
    expect(returns.admit("k", "m2", 600_001)).toBeUndefined();
  });

  test("does not begin before the service knows of all that is given back", () => {
    const returns = new KeyReturns();
    returns.giveBack("k", ["m1", "m2"], 0, 2, 0);
    returns.returned("k", 10);
    expect(returns.admit("k", "m3", 10 * minute)).toBe(10 * minute + 1000);
    expect(returns.admit("k", "m1", 20 * minute)).toBeUndefined();
    returns.returned("k", 30 * minute);
    expect(returns.admit("k", "m3", 31 * minute - 1)).toBe(31 * minute + 999);
    expect(returns.admit("k", "m3", 31 * minute)).toBeUndefined();
  });

  test("is longer for what could not be given back: it comes when its lease ends", () => {
    const returns = new KeyReturns();
    returns.giveBack("k", ["m1"], 0, 1, 0);
    returns.returned("k", 10 * minute);
    expect(returns.admit("k", "m2", 11 * minute - 1)).toBe(11 * minute + 999);
    expect(returns.admit("k", "m2", 11 * minute)).toBeUndefined();
    returns.delay("k", 20 * minute);
    expect(returns.admit("k", "m3", 12 * minute)).toBeUndefined();
  });

  test("for nothing is none, and ends when the service knows of all that was given back", () => {
    const returns = new KeyReturns();
    returns.giveBack("k", ["m1"], 0, 2, 0);
    expect(returns.admit("k", "m1", 1)).toBeUndefined();
    expect(returns.admit("k", "m2", 1)).toBeUndefined();
    returns.returned("k", 2);
    expect(returns.size).toBe(1);
    returns.returned("k", 3);
    expect(returns.size).toBe(0);
  });

  test("does not leave keys behind that nobody sends any more", () => {
    const returns = new KeyReturns();
    for (let k = 0; k < 100; k++) back(returns, `k${k}`, ["m"], 0, 0);
    back(returns, "late", ["m"], 2 * minute, 2 * minute);
    expect(returns.size).toBe(1);
  });
});

describe("a message that was on its way and is not ours", () => {
  test("is waited for, so that those behind it do not pass it", () => {
    const returns = new KeyReturns();
    returns.expect("k", "m1", 0, 0);
    expect(returns.admit("k", "m2", 0)).toBe(1000);
    expect(returns.admit("k", "m1", 10)).toBeUndefined();
    expect(returns.admit("k", "m2", 20)).toBeUndefined();
  });

  test("comes behind what is waited for, and keeps its place when it fails again", () => {
    const returns = new KeyReturns();
    back(returns, "k", ["m1"], 0, 0);
    returns.expect("k", "m2", 1, 1);
    returns.expect("k", "m1", 2, 2);
    expect(returns.admit("k", "m2", 3)).toBe(1003);
    expect(returns.admit("k", "m1", 4)).toBeUndefined();
    expect(returns.admit("k", "m2", 5)).toBeUndefined();
  });

  test("is waited for a minute longer than its lease can last", () => {
    const returns = new KeyReturns();
    returns.expect("k", "m1", 90_000, 1000);
    expect(returns.admit("k", "m2", 2000)).toBe(3000);
    expect(returns.admit("k", "m2", 90_000 + minute - 1)).toBe(90_000 + minute + 999);
    expect(returns.admit("k", "m2", 90_000 + minute)).toBeUndefined();
  });
});

describe("when the subscription is deleted and made again", () => {
  test("what was given back to the old one is not waited for", () => {
    const returns = new ReturnsByGeneration();
    back(returns.of(0), "k", ["m1"], 10_000, 0);
    expect(returns.of(0).admit("k", "m2", 1)).toBe(10_000);
    expect(returns.of(1).admit("k", "n1", 2)).toBeUndefined();
    back(returns.of(1), "k", ["n2"], 20_000, 3);
    expect(returns.of(1).admit("k", "n3", 4)).toBe(20_000);
  });

  test("what still comes of the old one keeps its order", () => {
    const returns = new ReturnsByGeneration();
    back(returns.of(0), "k", ["m1"], 10_000, 0);
    expect(returns.of(1).size).toBe(0);
    expect(returns.of(0).admit("k", "m2", 1)).toBe(10_000);
    // Twice made again: nothing of the first one comes any more, and nothing is kept of it.
    expect(returns.of(3).size).toBe(0);
    expect([returns.of(0).size, returns.of(2).size]).toEqual([0, 0]);
  });
});
