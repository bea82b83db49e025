import { beforeEach, describe, expect, test } from "vitest";
import type { ParcelResult } from "../../../src/source/ack-draft.ts";
import { exactlyOnceLimits, plainLimits } from "../../../src/source/ack-requests.ts";
import { LeaseManager, type LeaseOptions } from "../../../src/source/lease-manager.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const defaults: LeaseOptions = {
  minDurationPerAckExtensionMs: 10_000,
  maxDurationPerAckExtensionMs: 600_000,
  maxAckExtensionPeriodMs: Infinity,
  releaseAfterMs: Infinity,
};
const nothing: ReadonlyMap<number, number> = new Map();
const taken: ParcelResult = { lost: [], untaken: [] };

interface Batch {
  readonly name: string;
  readonly length: number;
  readonly ackIdBytes: number;
}

let clock = new VirtualClock();
/** `at name +seconds`, `at name released` and so on, times in seconds. */
let story: string[] = [];
let answer: (batch: Batch, messages: readonly number[] | undefined) => Promise<ParcelResult>;

beforeEach(() => {
  clock = new VirtualClock();
  story = [];
  answer = () => Promise.resolve(taken);
});

function open(options: Partial<LeaseOptions> = {}, random = () => 0.5): LeaseManager<Batch> {
  const tell = (text: string): number => story.push(`${clock.monotonic() / 1000} ${text}`);
  return new LeaseManager<Batch>(
    { ...defaults, ...options },
    clock,
    {
      limits: () => plainLimits,
      extend: (batch, seconds, messages) => {
        tell(`${batch.name} +${seconds}${messages ? ` for ${inRanges(messages)}` : ""}`);
        return answer(batch, messages);
      },
      release: (batch) => tell(`${batch.name} released`),
      limitReached: (batch) => tell(`${batch.name} limit`),
      expired: (messages) => tell(`${messages} expired`),
    },
    random,
  );
}

/** 0, 1, 2, 5: `0-2,5` */
function inRanges(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const n of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === n - 1) last[1] = n;
    else ranges.push([n, n]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join();
}

const batch = (name: string, length = 1): Batch => ({ name, length, ackIdBytes: length * 180 });

/** A batch has come now, or has been so long on its way. */
function hold(leases: LeaseManager<Batch>, held: Batch, seconds: number, ageMs = 0): Batch {
  leases.hold(held, { seconds, sinceMs: clock.monotonic() - ageMs, confirmed: false });
  return held;
}

const moments = (): number[] => [...new Set(story.map((line) => Number(line.split(" ")[0])))];

describe("a batch", () => {
  test("that is settled within a second costs no request, and leaves no timer", async () => {
    const leases = open();
    const a = hold(leases, batch("a"), 10);
    await clock.advance(999);
    leases.settle(a, nothing);
    leases.drop(a);
    await clock.advance(600_000);
    expect(story).toEqual([]);
    expect(clock.pending).toBe(0);
    expect(leases.size).toBe(0);
  });

  test("that is closed while its extension is under way leaves no timer when the answer comes", async () => {
    const { promise, resolve } = Promise.withResolvers<ParcelResult>();
    answer = () => promise;
    const leases = open();
    hold(leases, batch("a"), 10);
    await clock.advance(1000);
    leases.close();
    resolve(taken);
    await clock.advance(0);
    expect(story).toEqual(["1 a +10"]);
    expect(clock.pending).toBe(0);
  });

  test("that is held longer is extended nine seconds before its deadline, for nobody knows how long it was on its way", async () => {
    const leases = open();
    hold(leases, batch("a"), 10);
    await clock.advance(999);
    expect(story).toEqual([]);
    await clock.advance(1);
    expect(story).toEqual(["1 a +10"]);
    // From its own extensions on, five seconds before.
    await clock.advance(9000);
    expect(story).toEqual(["1 a +10", "6 a +10"]);
  });

  test("that was long on its way is extended at once", async () => {
    const leases = open();
    hold(leases, batch("a"), 10, 4000);
    await clock.advance(0);
    expect(story).toEqual(["0 a +10"]);
  });

  test("whose lease the service has confirmed is extended five seconds, or a tenth of it, before its deadline", async () => {
    const leases = open();
    leases.hold(batch("a"), { seconds: 20, sinceMs: 0, confirmed: true });
    leases.hold(batch("b"), { seconds: 100, sinceMs: 0, confirmed: true });
    await clock.advance(95_000);
    expect(moments().slice(0, 1)).toEqual([15]);
    expect(story.find((line) => line.includes("b"))).toMatch(/^(89|90)/);
  });

  test("with a long deadline is extended a tenth of it before the end", async () => {
    const leases = open();
    hold(leases, batch("a"), 600);
    await clock.advance(539_999);
    expect(story).toEqual([]);
    await clock.advance(1);
    expect(story).toEqual(["540 a +540"]);
  });

  test("that is being acked stays leased until the service has the ack, without what was given back", async () => {
    const leases = open();
    const a = hold(leases, batch("a", 3), 10);
    await clock.advance(500);
    leases.settle(a, new Map([[1, 0]]));
    await clock.advance(500);
    expect(story).toEqual(["1 a +10 for 0,2"]);
    leases.drop(a);
    await clock.advance(600_000);
    expect(story).toHaveLength(1);
  });

  test("of which the service does not know some messages any more is extended without them, and not at all without any", async () => {
    answer = ({ name }) => Promise.resolve({ lost: name === "a" ? [1] : [0], untaken: [] });
    const leases = open();
    hold(leases, batch("a", 2), 10);
    hold(leases, batch("b", 1), 10);
    await clock.advance(12_000);
    expect(story).toEqual(["1 a +10", "1 b +10", "6 a +10 for 0", "11 a +11 for 0"]);
  });

  test("tells on settlement how long it was held and when its lease ends", async () => {
    const leases = open({ maxAckExtensionPeriodMs: 3_600_000 });
    const a = hold(leases, batch("a"), 60);
    await clock.advance(3000);
    expect(leases.settle(a, nothing)).toEqual({ heldMs: 3000, deadlineAt: 60_000, lastDeadlineAt: 4_200_000 });
    expect(leases.settle(a, nothing)).toBeUndefined();
    expect(leases.settle(batch("other"), nothing)).toBeUndefined();
  });
});

describe("the length of an extension", () => {
  test("is the least one while nothing is known", () => {
    expect(open().extensionSeconds).toBe(10);
    expect(open({ minDurationPerAckExtensionMs: 30_000 }).extensionSeconds).toBe(30);
  });

  test("is a minute at least with exactly-once delivery, unless less is asked for", () => {
    const leases = open();
    leases.exactlyOnce = true;
    expect(leases.extensionSeconds).toBe(60);
    const short = open({ maxDurationPerAckExtensionMs: 20_000 });
    short.exactlyOnce = true;
    expect(short.extensionSeconds).toBe(20);
  });

  test.each([
    [42_500, {}, 43],
    [2000, {}, 10],
    [42_500, { minDurationPerAckExtensionMs: 60_000 }, 60],
    [42_500, { maxDurationPerAckExtensionMs: 20_000 }, 20],
    [900_000, {}, 600],
  ] as const)("is the 99th percentile: %i ms with %j give %i s", async (heldMs, options, seconds) => {
    const leases = open(options);
    const slow = hold(leases, batch("slow", 100), 600);
    await clock.advance(heldMs);
    leases.settle(slow, nothing);
    leases.drop(slow);
    expect(leases.extensionSeconds).toBe(seconds);
    hold(leases, batch("b"), 10);
    story.length = 0;
    await clock.advance(1500);
    expect(story.map((line) => line.split(" ").slice(1).join(" "))).toEqual([`b +${seconds}`]);
  });
});

describe("limits", () => {
  test("after the total limit nothing is extended any more, and that is told when the lease ends", async () => {
    const leases = open({ maxAckExtensionPeriodMs: 22_000 });
    const a = hold(leases, batch("a"), 10);
    await clock.advance(600_000);
    // At 16 s only six seconds are left of the 22.
    expect(story).toEqual(["1 a +10", "6 a +10", "11 a +11", "22 a limit"]);
    expect(leases.settle(a, nothing)).toBeDefined();
  });

  test("a batch that is held too long is released on time, and not extended any more", async () => {
    const leases = open({ releaseAfterMs: 4500 });
    hold(leases, batch("a"), 10);
    await clock.advance(600_000);
    expect(story).toEqual(["1 a +10", "4.5 a released"]);
    expect(clock.pending).toBe(0);
  });

  test("a batch that is being acked is not released", async () => {
    const leases = open({ releaseAfterMs: 4500 });
    const a = hold(leases, batch("a"), 10);
    leases.settle(a, nothing);
    await clock.advance(5500);
    expect(story).toEqual(["1 a +10"]);
  });
});

test("the machine's wall clock may jump", async () => {
  const leases = open();
  hold(leases, batch("a"), 10);
  clock.jump(-86_400_000);
  await clock.advance(999);
  expect(story).toEqual([]);
  clock.jump(7 * 86_400_000);
  await clock.advance(1);
  expect(story).toEqual(["1 a +10"]);
});

describe("when the machine was suspended for five minutes", () => {
  /** Timers do not fire while nothing runs; then all that are due fire, late. */
  function suspend(): void {
    clock.leap(300_000);
  }

  test("leases that have ended are told, and extended at once, by a request a second", async () => {
    const leases = open();
    for (let k = 0; k < 20; k++) hold(leases, batch(`b${k}`, 1000), 10);
    suspend();
    await clock.advance(20_000);
    // In parts of 250 messages, ten to a request.
    const expired = story.filter((line) => line.endsWith(" 250 expired"));
    expect(expired).toHaveLength(80);
    expect(moments()).toEqual(Array.from({ length: 8 }, (_, k) => 300 + k * 1.1));
    const extensions = story.filter((line) => line.includes("+")).map((line) => line.split(" ").slice(1).join(" "));
    expect(new Set(extensions).size).toBe(80);
    expect(extensions).toHaveLength(80);
  });
});

describe("many batches", () => {
  test("that fall due within a second are extended together", async () => {
    const leases = open();
    for (let k = 0; k < 5; k++) {
      hold(leases, batch(`b${k}`), 10);
      await clock.advance(300);
    }
    await clock.advance(2000);
    // Due at 1, 1.3, 1.6, 1.9 and 2.2 s: the last one is more than a second behind the first, and goes alone once.
    expect(story.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual([
      "1 b0",
      "1 b1",
      "1 b2",
      "1 b3",
      "2.2 b4",
    ]);
  });

  interface Outage {
    readonly messages: number;
    readonly perBatch: number;
    /** The batches come one after the other within this time. */
    readonly spreadMs?: number;
    /** How long they were on their way. */
    readonly ageMs?: number;
    readonly exactlyOnce?: boolean;
    readonly minutes?: number;
  }

  /**
   * Holds batches through an outage, and keeps books of its own on every message's lease.
   *
   * @returns the most requests within one second, the most ids in one request, and how many messages were extended too late
   *          or are not leased at the end
   */
  async function outage({ messages, perBatch, spreadMs = 0, ageMs = 0, exactlyOnce = false, minutes = 90 }: Outage) {
    const limits = exactlyOnce ? exactlyOnceLimits : plainLimits;
    const deadlines = new Map<Batch, Float64Array>();
    const idsAt = new Map<number, number>();
    let late = 0;
    const extend = (held: Batch, seconds: number, chosen: readonly number[] | undefined): Promise<ParcelResult> => {
      const now = clock.monotonic();
      const until = deadlines.get(held)!;
      for (const i of chosen ?? until.keys()) {
        if (until[i]! <= now) late++;
        until[i] = now + seconds * 1000;
      }
      idsAt.set(now, (idsAt.get(now) ?? 0) + (chosen ?? until).length);
      return Promise.resolve(taken);
    };
    const nobody = (): void => {
      throw new Error("nothing is released");
    };
    const actions = { limits: () => limits, extend, release: nobody, limitReached: nobody, expired: nobody };
    const leases = new LeaseManager<Batch>(defaults, clock, actions, () => 0.5);
    leases.exactlyOnce = exactlyOnce;
    const batches = messages / perBatch;
    for (let k = 0; k < batches; k++) {
      const held = batch(`b${k}`, perBatch);
      const all = (k + 1) * perBatch;
      const seconds = exactlyOnce ? leases.receiptSeconds({ length: all, ackIdBytes: all * 180 }) : 10;
      const sinceMs = clock.monotonic() - ageMs;
      deadlines.set(held, new Float64Array(perBatch).fill(sinceMs + seconds * 1000));
      leases.hold(held, { seconds, sinceMs, confirmed: exactlyOnce });
      if (spreadMs > 0) await clock.advance(spreadMs / batches);
    }
    await clock.advance(minutes * 60_000);
    const times = [...idsAt.keys()];
    const perSecond = times.map((at) => times.filter((other) => other >= at && other < at + 1000).length);
    let ended = 0;
    for (const until of deadlines.values()) ended += until.filter((at) => at <= clock.monotonic()).length;
    return { perSecond: Math.max(...perSecond), idsMost: Math.max(...idsAt.values()), late, ended };
  }

  test.each<[string, Outage, number, number]>([
    ["4,000 in batches of 1,000", { messages: 4000, perBatch: 1000 }, 1, 2500],
    ["20,000 in batches of 1,000", { messages: 20_000, perBatch: 1000 }, 1, 2500],
    ["20,000 in batches of 500", { messages: 20_000, perBatch: 500 }, 1, 2500],
    ["20,000 in batches of 50, within 5 s", { messages: 20_000, perBatch: 50, spreadMs: 5000 }, 1, 2500],
    ["20,000 one by one", { messages: 20_000, perBatch: 1, minutes: 15 }, 1, 2500],
    // A request for 180 bytes of id takes (45,000 - 512) / 243 = 183 of them.
    ["1,000, exactly once", { messages: 1000, perBatch: 100, exactlyOnce: true }, 1, 183],
    ["20,000, exactly once", { messages: 20_000, perBatch: 1000, exactlyOnce: true }, 1, 183],
    ["20,000, exactly once, in batches of 20", { messages: 20_000, perBatch: 20, exactlyOnce: true }, 1, 183],
  ])("held through an outage are extended by a request a second, and no lease ends: %s", async (_, held, most, ids) => {
    const { perSecond, idsMost, late, ended } = await outage(held);
    expect({ late, ended }).toEqual({ late: 0, ended: 0 });
    expect(perSecond).toBe(most);
    expect(idsMost).toBeLessThanOrEqual(ids);
    expect(idsMost).toBeGreaterThan(ids * 0.85);
  });

  test.each<[string, Outage, number]>([
    // Eight requests of 2,500 in 6 - 1 s.
    ["20,000 that were 4 s on their way", { messages: 20_000, perBatch: 1000, ageMs: 4000 }, 2],
    // 40 requests in 9 s.
    ["100,000", { messages: 100_000, perBatch: 1000 }, 5],
    // 400 requests in 9 s.
    ["1,000,000", { messages: 1_000_000, perBatch: 1000, minutes: 20 }, 46],
  ])(
    "of more messages than a request a second can keep have more, until their leases are longer: %s",
    async (_, held, most) => {
      const { perSecond, late, ended } = await outage(held);
      expect({ late, ended }).toEqual({ late: 0, ended: 0 });
      expect(perSecond).toBeLessThanOrEqual(most);
    },
  );

  /** Pauses with a random number of one half: 1 s and half of 1, 2, 4, 8, 16, 32 s, and half of 60 s from then on. */
  test("when the service takes no extensions for 90 minutes, are tried by one request at a time, with pauses up to a minute", async () => {
    answer = ({ length }) => Promise.resolve({ lost: [], untaken: Array.from({ length }, (_, i) => i) });
    const leases = open();
    for (let k = 0; k < 20; k++) hold(leases, batch(`b${k}`, 1000), 10);
    await clock.advance(90 * 60_000);
    // At 0.2, 1.7, 3.7, 6.7, 11.7, 20.7 and 37.7 s, and every 31 s from 68.7 s on: 7 + 172 within 90 minutes.
    const extensions = story.filter((line) => line.includes("+"));
    expect(new Set(extensions.map((line) => line.split(" ")[0])).size).toBe(179);
    expect(extensions).toHaveLength(10 * 179);
  });

  test("are extended one request after the other as soon as the service is back", async () => {
    answer = ({ length }) => Promise.resolve({ lost: [], untaken: Array.from({ length }, (_, i) => i) });
    const leases = open();
    for (let k = 0; k < 20; k++) hold(leases, batch(`b${k}`, 1000), 10);
    await clock.advance(100_000);
    answer = () => Promise.resolve(taken);
    story = [];
    await clock.advance(31_000 + 12_000);
    const extensions = story.filter((line) => line.includes("+"));
    const extended = extensions.map((line) => line.split(" "));
    expect(new Set(extended.map(([, name, , , messages]) => `${name} ${messages}`)).size).toBe(80);
  });
});

test("closing forgets everything and leaves no timer", async () => {
  const leases = open();
  hold(leases, batch("a"), 10);
  leases.close();
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  expect(story).toEqual([]);
  expect(leases.unsettled()).toEqual([]);
});
