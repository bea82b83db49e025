import { beforeEach, describe, expect, test } from "vitest";
import type { ParcelResult } from "../../../src/source/ack-draft.ts";
import { plainLimits } from "../../../src/source/ack-requests.ts";
import { Arrivals } from "../../../src/source/arrivals.ts";
import { KeyReturns } from "../../../src/source/key-returns.ts";
import { LeaseManager } from "../../../src/source/lease-manager.ts";
import type { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { Reception } from "../../../src/source/reception.ts";
import { namesOf, pulled } from "../../support/pulled-messages.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const taken: ParcelResult = { lost: [], untaken: [] };

let clock = new VirtualClock();
let arrivals = new Arrivals<PulledBatch>();
let leases: LeaseManager<PulledBatch>;
let returns = new KeyReturns();
/** Batches whose acks keep the order of keys. */
let ordered: string[][] = [];
let receipts: { names: string[]; seconds: number; answer: (result: ParcelResult) => void }[] = [];
let released: string[] = [];
let releaseResult = taken;
let extended: string[] = [];
let dropped = 0;
let givenBack: number[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  arrivals = new Arrivals();
  returns = new KeyReturns();
  ordered = [];
  receipts = [];
  released = [];
  releaseResult = taken;
  extended = [];
  dropped = 0;
  givenBack = [];
  leases = new LeaseManager<PulledBatch>(
    {
      minDurationPerAckExtensionMs: 10_000,
      maxDurationPerAckExtensionMs: 600_000,
      maxAckExtensionPeriodMs: Infinity,
      releaseAfterMs: Infinity,
    },
    clock,
    {
      limits: () => plainLimits,
      extend: (batch, _, messages) => {
        extended.push(`${clock.monotonic()} ${namesOf(batch, messages).join(" ")}`);
        return Promise.resolve(taken);
      },
      release: () => {},
      limitReached: () => {},
      expired: () => {},
    },
    () => 0.5,
  );
});

function open(): Reception {
  return new Reception({
    clock,
    arrivals,
    leases,
    returns: { of: () => returns },
    requests: {
      receipt: (batch, seconds) => {
        const { promise, resolve } = Promise.withResolvers<ParcelResult>();
        receipts.push({ names: namesOf(batch as PulledBatch), seconds, answer: resolve });
        return promise;
      },
      release: (batch, messages, seconds) => {
        released.push(`${namesOf(batch as PulledBatch, messages).join(" ")} for ${seconds}`);
        return Promise.resolve(releaseResult);
      },
    },
    settlements: { add: (batch) => void ordered.push(namesOf(batch)) },
    heldMessages: () => 100,
    onDropped: (messages) => (dropped += messages),
    onGivenBack: (nacks) => givenBack.push(...nacks.values()),
  });
}

const handedOn = (): string[][] => arrivals.takeRest().map((batch) => namesOf(batch));

const plain = { exactlyOnce: false, ordered: false };
const inOrder = { exactlyOnce: false, ordered: true };
const confirmed = { exactlyOnce: true, ordered: false };
const confirmedInOrder = { exactlyOnce: true, ordered: true };

describe("a plain subscription", () => {
  test("has its batches handed on at once, as they are", () => {
    const batch = pulled("a1", "2");
    open().receive(batch, plain, 10, 0);
    expect(arrivals.takeRest()).toEqual([batch]);
    expect([ordered, receipts, dropped, leases.size]).toEqual([[], [], 0, 1]);
  });

  /** Of 60 s with a grace of 9 s, 51 are left; 21 s were spent on the way. */
  test("leases count from when the service may have sent the batch", async () => {
    open().receive(pulled("a1"), plain, 60, 21_000);
    await clock.advance(29_999);
    expect(extended).toEqual([]);
    await clock.advance(1);
    expect(extended).toEqual(["30000 a1"]);
  });
});

describe("an ordered subscription", () => {
  test("keeps the order of acks where there are keys, and only there", () => {
    const reception = open();
    reception.receive(pulled("1", "2"), inOrder, 10, 0);
    reception.receive(pulled("a1", "2"), inOrder, 10, 0);
    expect(ordered).toEqual([["a1", "2"]]);
    expect(handedOn()).toEqual([
      ["1", "2"],
      ["a1", "2"],
    ]);
  });

  /** The pause ends at 3,500 ms: 2.5 s are rounded up to seconds. */
  test("gives back what comes before its turn, until the pause is over", async () => {
    const reception = open();
    returns.giveBack("a", ["a1"], 3500, 1, 0);
    await clock.advance(1000);
    reception.receive(pulled("a2", "b1", "a3", "4"), inOrder, 10, 0);
    expect(handedOn()).toEqual([["b1", "4"]]);
    expect(ordered).toEqual([["b1", "4"]]);
    expect(released).toEqual(["a2 a3 for 3"]);
    expect(givenBack).toEqual([2500, 2500]);
    expect([dropped, leases.size]).toEqual([2, 1]);
  });

  test("hands on nothing of a batch that is too early altogether, and holds nothing of it", () => {
    returns.giveBack("a", ["a1"], 0, 1, 0);
    open().receive(pulled("a2", "a3"), inOrder, 10, 0);
    expect(handedOn()).toEqual([]);
    expect(ordered).toEqual([]);
    expect(released).toEqual(["a2 a3 for 1"]);
    expect([dropped, leases.size, clock.pending]).toEqual([2, 0, 0]);
  });

  test("has them go on in one batch with the one that they waited for", () => {
    returns.giveBack("a", ["a1", "a2"], 0, 1, 0);
    open().receive(pulled("a1", "a2", "a3"), inOrder, 10, 0);
    expect(handedOn()).toEqual([["a1", "a2", "a3"]]);
    expect([released, dropped]).toEqual([[], 0]);
  });

  test("has different pauses of keys kept apart", () => {
    returns.giveBack("a", ["a1"], 5000, 1, 0);
    returns.giveBack("b", ["b1"], 9000, 1, 0);
    open().receive(pulled("a2", "b2", "a3"), inOrder, 10, 0);
    expect(released).toEqual(["a2 a3 for 5", "b2 for 9"]);
  });
});

test("what comes too early and cannot be given back is waited for until its lease has ended", async () => {
  returns.giveBack("a", ["a1"], 0, 1, 0);
  returns.returned("a", 0);
  releaseResult = { lost: [], untaken: [0] };
  open().receive(pulled("a2"), inOrder, 300, 0);
  await clock.advance(0);
  expect(returns.admit("a", "a1", 1)).toBeUndefined();
  expect(returns.admit("a", "a3", 359_999)).toBe(360_999);
  expect(returns.admit("a", "a3", 360_000)).toBeUndefined();
});

describe("an exactly-once subscription", () => {
  test("hands on what is confirmed to be ours, and holds nothing before", async () => {
    open().receive(pulled("1", "2", "3", "4"), confirmed, 10, 0);
    await clock.advance(700);
    expect([arrivals.takeRest(), leases.size]).toEqual([[], 0]);
    receipts[0]!.answer({ lost: [1], untaken: [3] });
    await clock.advance(0);
    expect(handedOn()).toEqual([["1", "3"]]);
    expect([dropped, leases.size, released]).toEqual([2, 1, []]);
  });

  test("hands on nothing when none is confirmed", async () => {
    open().receive(pulled("1", "2"), confirmed, 10, 0);
    receipts[0]!.answer({ lost: [0], untaken: [1] });
    await clock.advance(0);
    expect(handedOn()).toEqual([]);
    expect([dropped, leases.size]).toEqual([2, 0]);
  });

  /** The lease that was asked for counts from the question, less a tenth of it or 5 s. */
  test("leases count from the receipt", async () => {
    leases.exactlyOnce = true;
    open().receive(pulled("1"), confirmed, 10, 9000);
    await clock.advance(20_000);
    const { seconds, answer } = receipts[0]!;
    expect(seconds).toBeGreaterThanOrEqual(60);
    answer(taken);
    const dueAt = seconds * 1000 - Math.max(5000, seconds * 100);
    await clock.advance(dueAt - 20_000 - 1);
    expect(extended).toEqual([]);
    await clock.advance(1);
    expect(extended).toEqual([`${dueAt} 1`]);
  });

  test("without order does not wait for the receipts of others", async () => {
    const reception = open();
    reception.receive(pulled("a1"), confirmed, 10, 0);
    reception.receive(pulled("a2"), confirmed, 10, 0);
    receipts[1]!.answer(taken);
    await clock.advance(0);
    expect(handedOn()).toEqual([["a2"]]);
  });

  test("with order hands on batches in the order in which they came", async () => {
    const reception = open();
    for (const name of ["a1", "a2", "3"]) reception.receive(pulled(name), confirmedInOrder, 10, 0);
    receipts[2]!.answer(taken);
    receipts[1]!.answer(taken);
    await clock.advance(0);
    expect(handedOn()).toEqual([]);
    receipts[0]!.answer(taken);
    await clock.advance(0);
    expect(handedOn()).toEqual([["a1"], ["a2"], ["3"]]);
    expect(ordered).toEqual([["a1"], ["a2"]]);
  });

  test("with order waits for a message that is not ours: those of its key behind it are given back", async () => {
    const reception = open();
    reception.receive(pulled("a1", "b1", "a2"), confirmedInOrder, 10, 0);
    reception.receive(pulled("a3", "b2"), confirmedInOrder, 10, 0);
    receipts[0]!.answer({ lost: [0], untaken: [] });
    receipts[1]!.answer(taken);
    await clock.advance(0);
    expect(handedOn()).toEqual([["b1"], ["b2"]]);
    expect(released).toEqual(["a2 for 1", "a3 for 1"]);
    expect(dropped).toBe(3);
    reception.receive(pulled("a1", "a2"), confirmedInOrder, 10, 0);
    receipts[2]!.answer(taken);
    await clock.advance(0);
    expect(handedOn()).toEqual([["a1", "a2"]]);
  });

  /** Its lease may have been set to 60 s and more by a receipt whose answer was lost. */
  test("with order waits for it until the lease has ended that was asked for", async () => {
    open().receive(pulled("a1"), confirmedInOrder, 10, 0);
    const leaseMs = receipts[0]!.seconds * 1000;
    receipts[0]!.answer({ lost: [], untaken: [0] });
    await clock.advance(0);
    expect(returns.admit("a", "a2", leaseMs + 59_999)).toBe(leaseMs + 60_999);
    expect(returns.admit("a", "a2", leaseMs + 60_000)).toBeUndefined();
  });

  test("is at rest when no receipt is under way, those that come meanwhile included", async () => {
    const reception = open();
    let settled = false;
    reception.receive(pulled("1"), confirmed, 10, 0);
    void reception.settled().then(() => (settled = true));
    await clock.advance(0);
    reception.receive(pulled("2"), confirmed, 10, 0);
    receipts[0]!.answer(taken);
    await clock.advance(0);
    expect(settled).toBe(false);
    receipts[1]!.answer(taken);
    await clock.advance(0);
    expect(settled).toBe(true);
  });
});
