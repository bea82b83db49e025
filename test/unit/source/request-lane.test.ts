import { beforeEach, describe, expect, test } from "vitest";
import { AckRequest } from "../../../src/source/ack-requests.ts";
import { RequestLane, type Verdict } from "../../../src/source/request-lane.ts";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

let clock = new VirtualClock();
let sent: { at: number; ackIds: readonly string[]; answer: (verdict: Verdict) => void }[] = [];
let automatic: Verdict | undefined;
let givenUp = 0;

beforeEach(() => {
  clock = new VirtualClock();
  sent = [];
  automatic = "taken";
  givenUp = 0;
});

function open(): RequestLane {
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
      return promise;
    },
    givenUp: (request) => (givenUp += request.ids),
  });
}

/** Ack ids as a batch has them: all in one buffer, something in between. */
function ids(...names: string[]): { bytes: Buffer; ackIdStart(i: number): number; ackIdEnd(i: number): number } {
  const starts = names.map((_, i) => names.slice(0, i).join("-").length + Math.min(i, 1));
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
  expect(await Promise.all(results)).toEqual([true, true]);
  expect(lane.idle).toBe(true);
  expect(clock.pending).toBe(0);
});

test("no ids, no request", async () => {
  expect(await open().add(ids("a"), 1, [], Infinity)).toBe(true);
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
  expect(await result).toBe(true);
});

describe("when the service cannot take a request", () => {
  test("it is sent again after a pause that grows, and what came meanwhile goes along without a try of its own", async () => {
    automatic = "again";
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
    automatic = "taken";
    // Half of 200 ms.
    await clock.advance(100);
    expect(moments()).toEqual([5, 55, 55, 155, 155]);
    expect(await Promise.all([first, second, third])).toEqual([true, true, true]);
  });

  test("many small settlements become few requests", async () => {
    automatic = "again";
    const lane = open();
    for (let k = 0; k < 1000; k++) {
      void lane.add(ids(`id${k}`), 1, undefined, Infinity);
      await clock.advance(10);
    }
    // Ten seconds: pauses of 50, 100, 200, 400, 800, 1600, 3200 ms and 5 s, at most one more small request at each.
    expect(sent.length).toBeLessThan(60);
    automatic = "taken";
    await clock.advance(10_000);
    expect(lane.idle).toBe(true);
  });

  test("it is given up when its leases are over", async () => {
    automatic = "again";
    const lane = open();
    const result = lane.add(ids("a"), 1, undefined, 60);
    await clock.advance(60_000);
    expect(moments()).toEqual([5, 55, 155]);
    expect(await result).toBe(false);
    expect(givenUp).toBe(1);
  });
});

test("a refused request is given up at once; a settlement of which a part was taken is not taken", async () => {
  automatic = undefined;
  const lane = open();
  const large = "x".repeat(400_000);
  const result = lane.add(ids(large, large), 2, undefined, Infinity);
  await clock.advance(5);
  expect(sent).toHaveLength(2);
  sent[0]!.answer("taken");
  sent[1]!.answer("refused");
  expect(await result).toBe(false);
  expect(givenUp).toBe(1);
});

test("flushing waits neither for more nor for the end of a pause", async () => {
  automatic = "again";
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
  expect(await waiting).toBe(false);
  sent[0]!.answer("again");
  expect(await underWay).toBe(false);
  expect(await lane.add(ids("c"), 1, undefined, Infinity)).toBe(false);
  expect(clock.pending).toBe(0);
});
