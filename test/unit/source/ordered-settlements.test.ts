import { beforeEach, describe, expect, test } from "vitest";
import { KeyReturns } from "../../../src/source/key-returns.ts";
import type { Settlement } from "../../../src/source/lease-manager.ts";
import { OrderedSettlements } from "../../../src/source/ordered-settlements.ts";
import type { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { namesOf, pulled } from "../../support/pulled-messages.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

interface Told {
  readonly acks: readonly string[];
  /** By name: pause in milliseconds. */
  readonly nacks: Readonly<Record<string, number>>;
  readonly settlement: Settlement;
  readonly inOrder: boolean;
  readonly dropped: (messages: readonly number[]) => void;
  readonly taken: (isBack?: boolean) => void;
}

const settlement: Settlement = { heldMs: 0, deadlineAt: 10_000, lastDeadlineAt: 3_600_000 };
const noNacks: ReadonlyMap<number, number> = new Map();

let clock = new VirtualClock();
let returns = new KeyReturns();
let told: Told[] = [];
/** Messages that are not to be extended any more, in the order in which that was said. */
let leftOut: string[] = [];
let givenBack: number[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  returns = new KeyReturns();
  told = [];
  leftOut = [];
  givenBack = [];
});

function open(...batches: PulledBatch[]): OrderedSettlements {
  const settlements = new OrderedSettlements({
    clock,
    returns: { of: () => returns },
    requests: {
      tell: (batch, acks, nacks, of, { inOrder, dropped }) => {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        const names = (messages: Iterable<number>): string[] => namesOf(batch as PulledBatch, messages);
        told.push({
          acks: names(acks!),
          nacks: Object.fromEntries([...nacks].map(([i, pauseMs]) => [names([i])[0], pauseMs])),
          settlement: of,
          inOrder,
          dropped: dropped!,
          taken: (isBack = true) => resolve(isBack),
        });
        return promise;
      },
    },
    leases: { leaveOut: (batch, messages) => leftOut.push(...namesOf(batch, messages)) },
    onGivenBack: (nacks) => givenBack.push(...nacks.values()),
  });
  for (const batch of batches) settlements.add(batch);
  return settlements;
}

const acksAndNacks = (): unknown[] => told.map(({ acks, nacks }) => [acks, nacks]);

async function isDone(promise: Promise<void>): Promise<boolean> {
  let done = false;
  void promise.then(() => (done = true));
  await clock.advance(0);
  return done;
}

test("knows the batches it was given", () => {
  const batch = pulled("a1");
  const settlements = open(batch);
  expect([settlements.has(batch), settlements.has(pulled("a1"))]).toEqual([true, false]);
});

test("a batch is settled when the service has taken all of it, after those before it", async () => {
  const [first, second] = [pulled("a1"), pulled("a2", "b1")];
  const settlements = open(first, second);
  const secondDone = settlements.settle(second, noNacks, settlement);
  expect(acksAndNacks()).toEqual([[["b1"], {}]]);
  const firstDone = settlements.settle(first, noNacks, settlement);
  expect(acksAndNacks().slice(1)).toEqual([
    [["a1"], {}],
    [["a2"], {}],
  ]);
  expect(told.every(({ inOrder }) => inOrder)).toBe(true);
  told[1]!.taken();
  expect([await isDone(firstDone), await isDone(secondDone)]).toEqual([true, false]);
  told[2]!.taken();
  expect(await isDone(secondDone)).toBe(false);
  told[0]!.taken();
  expect(await isDone(secondDone)).toBe(true);
});

test("leases go on until a message is given back, or its ack is taken", async () => {
  const batch = pulled("a1", "a2", "a3");
  const settlements = open(batch);
  void settlements.settle(batch, new Map([[1, 5000]]), settlement);
  expect(leftOut).toEqual(["a2", "a3"]);
  told[0]!.taken();
  await clock.advance(0);
  expect(leftOut).toEqual(["a2", "a3", "a1"]);
});

test("a message whose ack is not tried any more is not extended either, whatever becomes of the others", () => {
  const batch = pulled("a1", "a2", "b1");
  void open(batch).settle(batch, noNacks, settlement);
  told[0]!.dropped([1]);
  expect(leftOut).toEqual(["a2"]);
});

describe("what is given back", () => {
  test("takes along what is behind it, with what is left of its pause", async () => {
    const [first, second] = [pulled("a1"), pulled("a2", "b1")];
    const settlements = open(first, second);
    void settlements.settle(first, new Map([[0, 5000]]), settlement);
    await clock.advance(2000);
    void settlements.settle(second, noNacks, settlement);
    expect(acksAndNacks()).toEqual([
      [[], { a1: 5000 }],
      [["b1"], { a2: 3000 }],
    ]);
    expect(givenBack).toEqual([5000, 3000]);
  });

  test("whose pause is over meanwhile is given back at once", async () => {
    const [first, second] = [pulled("a1"), pulled("a2")];
    const settlements = open(first, second);
    void settlements.settle(first, new Map([[0, 500]]), settlement);
    await clock.advance(2000);
    void settlements.settle(second, noNacks, settlement);
    expect(acksAndNacks()[1]).toEqual([[], { a2: 0 }]);
  });

  test("is told in its order, whatever the order in which it was found", () => {
    const batch = pulled("a1", "b1", "a2");
    void open(batch).settle(
      batch,
      new Map([
        [1, 7],
        [0, 9],
      ]),
      settlement,
    );
    expect(Object.keys(told[0]!.nacks)).toEqual(["a1", "b1", "a2"]);
  });

  test("is waited for with all that is held behind it, settled or not", () => {
    const [first, second] = [pulled("a1", "b1"), pulled("a2")];
    const settlements = open(first, second);
    void settlements.settle(first, new Map([[0, 5000]]), settlement);
    expect(returns.admit("a", "a2", 100)).toBe(5000);
    expect(returns.admit("a", "a3", 100)).toBe(5000);
    expect(returns.admit("b", "b2", 100)).toBeUndefined();
    expect(returns.admit("a", "a1", 5000)).toBeUndefined();
    expect(returns.admit("a", "a2", 5000)).toBeUndefined();
    expect(returns.admit("a", "a3", 5000)).toBeUndefined();
  });

  test("has come again already when an old copy is given back: it is not waited for once more", () => {
    const [first, second] = [pulled("a1"), pulled("a2")];
    const settlements = open(first, second);
    void settlements.settle(first, new Map([[0, 0]]), settlement);
    expect([returns.admit("a", "a1", 1), returns.admit("a", "a2", 2)]).toEqual([undefined, undefined]);
    void settlements.settle(second, noNacks, settlement);
    expect(returns.admit("a", "a3", 3)).toBeUndefined();
  });

  test("after a long wait is tried for a minute, though the lease it had when it was settled is over", async () => {
    const [first, second] = [pulled("a1"), pulled("a2")];
    const settlements = open(first, second);
    void settlements.settle(second, new Map([[0, 0]]), settlement);
    await clock.advance(500_000);
    void settlements.settle(first, noNacks, settlement);
    expect(told[1]!.settlement.deadlineAt).toBe(560_000);
    expect(told[1]!.settlement.lastDeadlineAt).toBe(3_600_000);
  });

  test("is tried for as long as its lease lives, if that is longer", () => {
    const batch = pulled("a1");
    void open(batch).settle(batch, new Map([[0, 0]]), { ...settlement, deadlineAt: 600_000 });
    expect(told[0]!.settlement.deadlineAt).toBe(600_000);
  });

  /** A minute after the service knows of it; a lease lasts ten minutes at most. */
  test.each([
    ["a minute after the service has taken it", true, 100_000 + 60_000],
    ["for as long as its lease can last if the service does not take it", false, 100_000 + 600_000 + 60_000],
  ])("is waited for %s", async (_, isBack, until) => {
    const batch = pulled("a1");
    void open(batch).settle(batch, new Map([[0, 0]]), settlement);
    await clock.advance(100_000);
    expect(returns.admit("a", "a2", 100_000)).toBe(101_000);
    told[0]!.taken(isBack);
    await clock.advance(0);
    expect(returns.admit("a", "a2", until - 1)).toBe(until + 999);
    expect(returns.admit("a", "a2", until)).toBeUndefined();
  });
});
