import { beforeEach, describe, expect, test } from "vitest";
import type { AckFailure } from "../../../src/source/ack-failures.ts";
import { AckRequest } from "../../../src/source/ack-requests.ts";
import { type LaneOptions, RequestLane, type Verdict } from "../../../src/source/request-lane.ts";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

let clock = new VirtualClock();
let sent: { at: number; ackIds: readonly string[]; answer: (verdict: Verdict) => void }[] = [];
let automatic: Verdict | undefined;
let answerNext: (request: (typeof sent)[number]) => void = () => {};
let taken = 0;
let givenUp = 0;
/** Status and number of ids of each time that some were given up. */
let reasons: string[] = [];

beforeEach(() => {
  clock = new VirtualClock();
  sent = [];
  automatic = yes;
  answerNext = () => {};
  givenUp = 0;
  reasons = [];
  taken = 0;
});

const yes: Verdict = { kind: "taken" };
const again: Verdict = { kind: "again", code: "UNAVAILABLE" };
const all = { lost: [], untaken: [] };

function open(options: Partial<LaneOptions> = {}): RequestLane {
  const type = pubsubProtos().lookupType("google.pubsub.v1.AcknowledgeRequest");
  return new RequestLane({
    clock,
    random: () => 0.5,
    newRequest: () => AckRequest.acknowledge("projects/acme/subscriptions/orders"),
    send: (request) => {
      const { ackIds } = type.decode(request.bytes) as unknown as { ackIds: string[] };
      const { promise, resolve } = Promise.withResolvers<Verdict>();
      sent.push({ at: clock.monotonic(), ackIds, answer: resolve });
      if (automatic) resolve(automatic);
      else answerNext(sent.at(-1)!);
      return promise;
    },
    taken: (ids) => (taken += ids),
    givenUp: (ids, code) => {
      givenUp += ids;
      reasons.push(`${code} ${ids}`);
    },
    ...options,
  });
}

/** Ack ids as a batch has them: all in one buffer, something in between. */
function ids(...names: string[]): { bytes: Buffer; ackIdStart(i: number): number; ackIdEnd(i: number): number } {
  let position = 0;
  const starts = names.map((name) => {
    position += name.length + 1;
    return position - name.length - 1;
  });
  return {
    bytes: Buffer.from(names.join("-")),
    ackIdStart: (i) => starts[i]!,
    ackIdEnd: (i) => starts[i]! + names[i]!.length,
  };
}

const moments = (): number[] => sent.map(({ at }) => at);

test("what comes within five milliseconds goes in one request", async () => {
  const lane = open();
  const results = [lane.add(ids("a", "b"), 2, undefined, Infinity)];
  await clock.advance(4);
  results.push(lane.add(ids("c", "d", "e"), 3, [0, 2], Infinity));
  expect(sent).toEqual([]);
  await clock.advance(1);
  expect(sent.map(({ ackIds }) => ackIds)).toEqual([["a", "b", "c", "e"]]);
  expect(await Promise.all(results)).toEqual([all, all]);
  expect(lane.idle).toBe(true);
  expect(clock.pending).toBe(0);
});

test("no ids, no request", async () => {
  expect(await open().add(ids("a"), 1, [], Infinity)).toEqual(all);
  expect(clock.pending).toBe(0);
});

test("a full request goes at once, below 512 KiB", async () => {
  const lane = open();
  const id = "x".repeat(1000);
  const names = Array.from({ length: 600 }, () => id);
  const result = lane.add(ids(...names), 600, undefined, Infinity);
  // 1 + 2 + 1000 bytes an id; the head of the request has 36: 506 ids have 507,554 bytes, 507 would pass 507,904.
  expect(sent.map(({ ackIds }) => ackIds.length)).toEqual([506]);
  await clock.advance(5);
  expect(sent.map(({ ackIds }) => ackIds.length)).toEqual([506, 94]);
  expect(await result).toEqual(all);
});

describe("when the service cannot take a request", () => {
  test("it is sent again after a pause that grows, and what came meanwhile goes along without a try of its own", async () => {
    automatic = again;
    const lane = open();
    const first = lane.add(ids("a"), 1, undefined, Infinity);
    await clock.advance(5);
    const second = lane.add(ids("b"), 1, undefined, Infinity);
    await clock.advance(20);
    const third = lane.add(ids("c"), 1, undefined, Infinity);
    // Half of 100 ms after the first failure.
    await clock.advance(30);
    expect(sent.map(({ at, ackIds }) => [at, ...ackIds])).toEqual([
      [5, "a"],
      [55, "a"],
      [55, "b", "c"],
    ]);
    automatic = yes;
    // Half of 200 ms.
    await clock.advance(100);
    expect(moments()).toEqual([5, 55, 55, 155, 155]);
    expect(await Promise.all([first, second, third])).toEqual([all, all, all]);
  });

  test("many small settlements become few requests", async () => {
    automatic = again;
    const lane = open();
    for (let k = 0; k < 1000; k++) {
      void lane.add(ids(`id${k}`), 1, undefined, Infinity);
      await clock.advance(10);
    }
    // Ten seconds: pauses of 50, 100, 200, 400, 800, 1600, 3200 ms and 5 s, at most one more small request at each.
    expect(sent.length).toBeLessThan(60);
    automatic = yes;
    await clock.advance(10_000);
    expect(lane.idle).toBe(true);
  });

  test("it is given up when its leases are over", async () => {
    automatic = again;
    const lane = open();
    const result = lane.add(ids("a"), 1, undefined, 60);
    await clock.advance(60_000);
    expect(moments()).toEqual([5, 55, 155]);
    expect(await result).toEqual({ lost: [], untaken: [0] });
    expect(reasons).toEqual(["UNAVAILABLE 1"]);
  });
});

test("a refused request is given up at once; a settlement of which a part was taken is not taken", async () => {
  automatic = undefined;
  const lane = open();
  const large = "x".repeat(400_000);
  const result = lane.add(ids(large, large), 2, undefined, Infinity);
  await clock.advance(5);
  expect(sent).toHaveLength(2);
  sent[0]!.answer(yes);
  sent[1]!.answer({ kind: "refused", code: "NOT_FOUND" });
  expect(await result).toEqual({ lost: [], untaken: [1] });
  expect(taken).toBe(1);
  expect(reasons).toEqual(["NOT_FOUND 1"]);
});

test("flushing waits neither for more nor for the end of a pause", async () => {
  automatic = again;
  const lane = open();
  void lane.add(ids("a"), 1, undefined, Infinity);
  lane.flush();
  expect(moments()).toEqual([0]);
  await clock.advance(0);
  void lane.add(ids("b"), 1, undefined, Infinity);
  lane.flush();
  expect(moments()).toEqual([0, 0, 0]);
});

test("closing gives up what has not been taken, and takes nothing more", async () => {
  automatic = undefined;
  const lane = open();
  const underWay = lane.add(ids("a"), 1, undefined, Infinity);
  await clock.advance(5);
  const waiting = lane.add(ids("b"), 1, undefined, Infinity);
  lane.close();
  expect(await waiting).toEqual({ lost: [], untaken: [0] });
  sent[0]!.answer(again);
  expect(await underWay).toEqual({ lost: [], untaken: [0] });
  expect(await lane.add(ids("c"), 1, undefined, Infinity)).toEqual({ lost: [], untaken: [0] });
  expect(reasons).toEqual(["CANCELLED 1", "UNAVAILABLE 1"]);
  expect(clock.pending).toBe(0);
});

test("a lane of one request at a time keeps the order, also when a request has to go again", async () => {
  automatic = undefined;
  const lane = open({ maxInFlight: 1 });
  const results = [lane.add(ids("a"), 1, undefined, Infinity)];
  await clock.advance(5);
  results.push(lane.add(ids("b"), 1, undefined, Infinity));
  await clock.advance(5);
  expect(sent.map(({ ackIds }) => ackIds)).toEqual([["a"]]);
  sent[0]!.answer(again);
  await clock.advance(50);
  expect(sent.map(({ ackIds }) => ackIds)).toEqual([["a"], ["a"]]);
  sent[1]!.answer(yes);
  await clock.advance(0);
  expect(sent.map(({ ackIds }) => ackIds)).toEqual([["a"], ["a"], ["b"]]);
  sent[2]!.answer(yes);
  expect(await Promise.all(results)).toEqual([all, all]);
});

describe("ids that fail alone", () => {
  /** Answers as a service would that has these failures, each until it has been told so often. */
  function answerBy(failures: Readonly<Record<string, { as: AckFailure; times: number }>>): void {
    const left = new Map(Object.entries(failures).map(([id, { times }]) => [id, times]));
    automatic = undefined;
    answerNext = ({ ackIds, answer }) => {
      const failing = ackIds.filter((id) => (left.get(id) ?? 0) > 0);
      for (const id of failing) left.set(id, left.get(id)! - 1);
      if (failing.length === 0) return answer(yes);
      const told = new Map(failing.map((id) => [id, failures[id]!.as]));
      answer({ kind: "partly", code: "INVALID_ARGUMENT", failures: told });
    };
  }

  test("for good are lost, the others of the request are taken", async () => {
    answerBy({ b: { as: "permanent", times: 1 }, d: { as: "permanent", times: 1 } });
    const lane = open();
    const results = [lane.add(ids("a", "b", "c"), 3, undefined, Infinity), lane.add(ids("x", "d"), 2, [1], Infinity)];
    await clock.advance(5);
    expect(await Promise.all(results)).toEqual([
      { lost: [1], untaken: [] },
      { lost: [1], untaken: [] },
    ]);
    expect(taken).toBe(2);
    expect(reasons).toEqual(["INVALID_ARGUMENT 2"]);
    expect(sent).toHaveLength(1);
  });

  test("for a while are sent again alone, after half of 1, 2, 4 s", async () => {
    answerBy({ b: { as: "transient", times: 3 } });
    const lane = open();
    const result = lane.add(ids("a", "b", "c"), 3, undefined, Infinity);
    await clock.advance(10_000);
    expect(sent.map(({ at, ackIds }) => [at, ...ackIds])).toEqual([
      [5, "a", "b", "c"],
      [505, "b"],
      [1505, "b"],
      [3505, "b"],
    ]);
    expect(await result).toEqual(all);
    expect([taken, givenUp]).toEqual([3, 0]);
    expect(lane.idle).toBe(true);
  });

  test("do not hold up what comes after them", async () => {
    answerBy({ a: { as: "transient", times: 1 } });
    const lane = open();
    void lane.add(ids("a"), 1, undefined, Infinity);
    await clock.advance(5);
    const second = lane.add(ids("b"), 1, undefined, Infinity);
    await clock.advance(5);
    expect(await second).toEqual(all);
  });

  /** Half of 1, 2, 4 … 32 s are 31.5 s after seven tries, then 32 s each: 18 more tries until 607.5 s, the last one. */
  test("are given up after ten minutes, with pauses of 64 s at most", async () => {
    answerBy({ a: { as: "transient", times: Infinity } });
    const lane = open();
    const result = lane.add(ids("a"), 1, undefined, Infinity);
    await clock.advance(3_600_000);
    expect(await result).toEqual({ lost: [], untaken: [0] });
    expect(moments().at(-1)).toBe(607_505);
    expect(sent).toHaveLength(25);
    expect(givenUp).toBe(1);
  });

  test("are given up after as many tries as the lane allows", async () => {
    answerBy({ a: { as: "transient", times: Infinity } });
    const result = open({ maxTries: 3 }).add(ids("a", "b"), 2, undefined, Infinity);
    await clock.advance(60_000);
    expect(await result).toEqual({ lost: [], untaken: [0] });
    expect(sent).toHaveLength(3);
  });

  /** Half of 1, 2, 4 s. */
  test("for their order are tried three times while so much is held that nothing more comes, and for longer otherwise", async () => {
    const failing = { a: { as: "unordered", times: 3 }, b: { as: "transient", times: 4 } } as const;
    answerBy(failing);
    let crowded = true;
    const lane = open({ isCrowded: () => crowded });
    const first = lane.add(ids("a", "b"), 2, undefined, Infinity);
    await clock.advance(10_000);
    expect(sent.map(({ at, ackIds }) => [at, ...ackIds])).toEqual([
      [5, "a", "b"],
      [505, "a", "b"],
      [1505, "a", "b"],
      [3505, "b"],
      [7505, "b"],
    ]);
    expect(await first).toEqual({ lost: [], untaken: [0] });
    expect(givenUp).toBe(1);
    crowded = false;
    answerBy(failing);
    const second = lane.add(ids("a"), 1, undefined, Infinity);
    await clock.advance(10_000);
    expect(await second).toEqual(all);
  });

  test("are given up when the lane is closed while they rest, and flushing does not wait for their rest", async () => {
    answerBy({ a: { as: "transient", times: Infinity } });
    const lane = open();
    const result = lane.add(ids("a"), 1, undefined, Infinity);
    await clock.advance(5);
    lane.flush();
    await clock.advance(1);
    expect(moments()).toEqual([5, 5]);
    lane.close();
    expect(await result).toEqual({ lost: [], untaken: [0] });
    expect(sent).toHaveLength(2);
    expect(reasons).toEqual(["CANCELLED 1"]);
    expect([clock.pending, lane.idle]).toEqual([0, true]);
  });

  test("in many requests are collected for their next try", async () => {
    answerBy(Object.fromEntries(Array.from({ length: 50 }, (_, k) => [`id${k}`, { as: "transient", times: 1 }])));
    const lane = open();
    for (let k = 0; k < 50; k++) {
      void lane.add(ids(`id${k}`), 1, undefined, Infinity);
      await clock.advance(5);
    }
    await clock.advance(10_000);
    expect(sent).toHaveLength(51);
    expect(taken).toBe(50);
  });
});

describe("a request that is refused for an id that is not named", () => {
  const names = (count: number, name: string): string[] => Array.from({ length: count }, (_, k) => `${name}${k}`);
  const bad: Verdict = { kind: "badId", code: "INVALID_ARGUMENT" };

  function refuse(isBad: (id: string) => boolean): void {
    automatic = undefined;
    answerNext = ({ ackIds, answer }) => answer(ackIds.some(isBad) ? bad : yes);
  }

  /** Halves of 2,500: 1,250, 625, 313, 157, 79, 40, 20, 10, 5, 3, 2, 1: twelve times two requests at most. */
  test("is halved until that id is alone", async () => {
    refuse((id) => id === "a1733");
    const result = open().add(ids(...names(2500, "a")), 2500, undefined, Infinity);
    await clock.advance(5);
    expect(await result).toEqual({ lost: [1733], untaken: [] });
    expect([taken, givenUp]).toEqual([2499, 1]);
    expect(sent.length).toBeLessThanOrEqual(25);
  });

  test("is cut between batches first", async () => {
    refuse((id) => id.startsWith("old"));
    const lane = open();
    const results = [
      lane.add(ids(...names(3, "old")), 3, undefined, Infinity),
      lane.add(ids(...names(9, "new")), 9, undefined, Infinity),
    ];
    await clock.advance(5);
    const [old, young] = await Promise.all(results);
    expect(new Set(old!.lost)).toEqual(new Set([0, 1, 2]));
    expect(young).toEqual(all);
    expect(sent[1]!.ackIds).toEqual(names(3, "old"));
  });

  const isOdd = (id: string): boolean => Number(id.slice(1)) % 2 === 1;
  const isFirst300OrSixth = (id: string): boolean => Number(id.slice(1)) < 300 || Number(id.slice(1)) % 6 === 0;

  /** A tree with 1,000 leaves has 999 inner nodes: no more requests than that, however many are bad. */
  test.each([
    ["every other", isOdd, [16, 1]],
    ["a long row of them and some more", isFirst300OrSixth, [16, 1]],
  ] as const)("has its good ids acked beside many bad ones: %s", async (_, isBad, widths) => {
    for (const maxInFlight of widths) {
      sent = [];
      taken = 0;
      refuse(isBad);
      const all1000 = names(1000, "a");
      const result = open({ maxInFlight }).add(ids(...all1000), 1000, undefined, Infinity);
      await clock.advance(5);
      await clock.advance(0);
      const expected = all1000.flatMap((id, k) => (isBad(id) ? [k] : []));
      expect((await result).lost.toSorted((a, b) => a - b)).toEqual(expected);
      expect(taken).toBe(1000 - expected.length);
      expect(sent.length).toBeLessThanOrEqual(1999);
    }
  });

  test("is not searched for ever: of a subscription that is gone every id is bad", async () => {
    refuse(() => true);
    const lane = open();
    const result = lane.add(ids(...names(2500, "a")), 2500, undefined, Infinity);
    await clock.advance(5);
    expect((await result).lost).toHaveLength(2500);
    expect(givenUp).toBe(2500);
    // Two requests for each of a thousand ids; then the pieces that were cut already, twelve at a time in each of 16 calls.
    expect(sent.length).toBeLessThan(2000 + 16 * 12);
    sent = [];
    const next = lane.add(ids(...names(2500, "b")), 2500, undefined, Infinity);
    await clock.advance(5);
    expect((await next).lost).toHaveLength(2500);
    expect(sent).toHaveLength(1);
  });

  test("is searched again as soon as any id is taken", async () => {
    refuse((id) => id.startsWith("old"));
    const lane = open();
    void lane.add(ids(...names(1000, "old")), 1000, undefined, Infinity);
    await clock.advance(5);
    const young = lane.add(ids(...names(2, "new")), 2, undefined, Infinity);
    await clock.advance(5);
    expect(await young).toEqual(all);
    const mixed = lane.add(ids("old", "new"), 2, undefined, Infinity);
    await clock.advance(5);
    expect(await mixed).toEqual({ lost: [0], untaken: [] });
  });
});
