import { describe, expect, test } from "vitest";
import { KeyOrder, type Settled } from "../../../src/source/key-order.ts";

/** A batch of messages `<key><number>`; a number alone has no key. */
class Batch {
  readonly names: readonly string[];
  readonly length: number;

  constructor(...names: string[]) {
    this.names = names;
    this.length = names.length;
  }

  orderingKey(i: number): string {
    return this.names[i]!.replace(/\d+$/, "");
  }
}

const noNacks: ReadonlyMap<number, number> = new Map();
const nacks = (...pauses: [i: number, pauseMs: number][]): ReadonlyMap<number, number> => new Map(pauses);

function opened(...batches: Batch[]): KeyOrder<Batch> {
  const order = new KeyOrder<Batch>();
  for (const batch of batches) order.add(batch);
  return order;
}

/** `a1 a2` for acks, `a3@500` for what comes back at 500, by batch; `.` behind what is complete. */
function told({ tellings }: Settled<Batch>): string[] {
  return tellings.map(({ batch, acks, backAt, complete }) => {
    const back = [...backAt].map(([i, at]) => `${batch.names[i]}@${at}`);
    return [...acks.map((i) => batch.names[i]), ...back].join(" ") + (complete ? "." : "");
  });
}

/** `a: a1 a2@500 in 3` for messages of key `a` that come back from 500 on, in three tellings. */
function returned({ returns }: Settled<Batch>): string[] {
  return returns.map(({ key, places, backAt }) => {
    const tellings = new Set(places.map(({ batch }) => batch)).size;
    const names = places.map(({ batch, i }) => batch.names[i]).join(" ");
    return `${key}: ${names}@${backAt} in ${tellings}`;
  });
}

const keysBack = ({ tellings }: Settled<Batch>): string => tellings.flatMap((telling) => telling.keysBack).join(" ");

describe("acks", () => {
  test("of a batch whose keys nobody waits for are told at once", () => {
    const batch = new Batch("a1", "1", "b1", "a2");
    const settled = opened(batch).settle(batch, noNacks, 0);
    expect(told(settled)).toEqual(["a1 1 b1 a2."]);
    expect(returned(settled)).toEqual([]);
  });

  test("wait for what came before of their key, others do not", () => {
    const [first, second] = [new Batch("a1", "b1"), new Batch("a2", "c1", "7")];
    const order = opened(first, second);
    expect(told(order.settle(second, noNacks, 0))).toEqual(["c1 7"]);
    expect(told(order.settle(first, noNacks, 1))).toEqual(["a1 b1.", "a2."]);
  });

  test("of several batches are told in the order in which those came", () => {
    const [first, second, third] = [new Batch("a1"), new Batch("a2", "b1"), new Batch("b2", "a3")];
    const order = opened(first, second, third);
    expect(told(order.settle(third, noNacks, 0))).toEqual([""]);
    expect(told(order.settle(second, noNacks, 0))).toEqual(["b1", "b2"]);
    expect(told(order.settle(first, noNacks, 0))).toEqual(["a1.", "a2.", "a3."]);
  });

  test("of a batch that is settled twice, or never came, are told once", () => {
    const batch = new Batch("a1");
    const order = opened(batch);
    order.settle(batch, noNacks, 0);
    expect(order.settle(batch, noNacks, 0)).toEqual({ tellings: [], returns: [] });
    expect(order.settle(new Batch("a2"), noNacks, 0)).toEqual({ tellings: [], returns: [] });
  });
});

describe("a message that is given back", () => {
  test("takes those of its key behind it along, not those before it nor other keys", () => {
    const batch = new Batch("a1", "b1", "a2", "9", "a3", "b2");
    const settled = opened(batch).settle(batch, nacks([2, 500]), 1000);
    expect(told(settled)).toEqual(["a1 b1 9 b2 a2@1500 a3@1500."]);
    expect(returned(settled)).toEqual(["a: a2 a3@1500 in 1"]);
  });

  test("takes later batches along, whatever their fate, which are told when it is known", () => {
    const [first, second, third] = [new Batch("a1"), new Batch("a2", "b1"), new Batch("a3", "a4")];
    const order = opened(first, second, third);
    const turn = order.settle(first, nacks([0, 200]), 100);
    expect(told(turn)).toEqual(["a1@300."]);
    expect(returned(turn)).toEqual(["a: a1 a2 a3 a4@300 in 3"]);
    const second_ = order.settle(second, noNacks, 5000);
    expect(told(second_)).toEqual(["b1 a2@300."]);
    expect([returned(second_), keysBack(second_)]).toEqual([[], "a"]);
    // The pause of the first counts, not its own.
    const third_ = order.settle(third, nacks([1, 9999]), 6000);
    expect(told(third_)).toEqual(["a3@300 a4@300."]);
    expect([returned(third_), keysBack(third_)]).toEqual([[], "a"]);
  });

  test("is not told before those of its key that came earlier, and its pause begins then", () => {
    const [first, second] = [new Batch("a1"), new Batch("a2")];
    const order = opened(first, second);
    expect(told(order.settle(second, nacks([0, 50]), 10))).toEqual([""]);
    expect(told(order.settle(first, noNacks, 1000))).toEqual(["a1.", "a2@1050."]);
  });

  test("does not take along what comes later", () => {
    const [first, second, third] = [new Batch("a1"), new Batch("a2"), new Batch("a1")];
    const order = opened(first, second);
    order.settle(first, nacks([0, 0]), 0);
    order.add(third);
    // It waits all the same for what is still held.
    expect(told(order.settle(third, noNacks, 0))).toEqual([""]);
    const settled = order.settle(second, noNacks, 7);
    expect(told(settled)).toEqual(["a2@0.", "a1."]);
    expect([returned(settled), keysBack(settled)]).toEqual([[], "a"]);
  });

  test("without a key is told at once, and takes none along", () => {
    const [first, second] = [new Batch("a1"), new Batch("1", "2", "a2")];
    const order = opened(first, second);
    expect(told(order.settle(second, nacks([0, 30]), 5))).toEqual(["2 1@35"]);
    expect(told(order.settle(first, noNacks, 5))).toEqual(["a1.", "a2."]);
  });

  test("for nothing is given back for nothing", () => {
    const batch = new Batch("a1", "a2");
    expect(told(opened(batch).settle(batch, nacks([0, 0]), 40))).toEqual(["a1@40 a2@40."]);
  });
});
