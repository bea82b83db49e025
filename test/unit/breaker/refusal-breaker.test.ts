import pino from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { RefusalBreaker } from "../../../src/breaker/refusal-breaker.ts";
import { Outcomes } from "../../../src/message.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;
let clock = new VirtualClock();
let trips = 0;
let breaker = open();
let stop = new AbortController();

function open(): RefusalBreaker {
  return new RefusalBreaker({
    share: 0.5,
    window: 200,
    clock,
    log: pino({ level: "silent" }),
    observer: { tripped: () => trips++ },
  });
}

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 0, 1));
  trips = 0;
  stop = new AbortController();
  breaker = open();
});

/** Outcomes of `messages` messages, of which so many are refused. */
function outcomes(messages: number, refused: number): Outcomes {
  const all = new Outcomes(messages);
  for (let i = 0; i < refused; i++) {
    const code = i % 4 === 0 ? "UNKNOWN_FIELD" : "TYPE_MISMATCH";
    all.set(i, { kind: "refused", refusal: { code, path: "", message: "", stage: "transcode" } });
  }
  return all;
}

/** Takes a batch. The result tells whether another may be taken. */
function take(messages: number): { free: boolean } {
  const taken = { free: false };
  void breaker.taken(messages, stop.signal).then(() => (taken.free = true));
  return taken;
}

/** Takes a batch that is delivered before the next one is asked for. */
async function run(messages: number, refused: number): Promise<{ free: boolean }> {
  const taken = take(messages);
  breaker.judge(outcomes(messages, refused));
  await clock.advance(0);
  return taken;
}

test("as long as the share is below the threshold, everything is taken", async () => {
  for (let k = 0; k < 20; k++) expect(await run(100, 49)).toEqual({ free: true });
  expect(breaker).toMatchObject({ state: "ACTIVE", stateReason: "" });
});

test("few messages trip nothing, were they all refused", async () => {
  await run(199, 199);
  expect(breaker.state).toBe("ACTIVE");
  await run(1, 0);
  expect(breaker.state).toBe("TRIPPED");
});

test("it trips at the threshold, and says over what", async () => {
  await run(100, 40);
  await run(100, 60);
  expect(breaker.state).toBe("TRIPPED");
  expect(breaker.stateReason).toBe(
    "100 of the last 200 messages (50.0 %) were refused: TYPE_MISMATCH 75, UNKNOWN_FIELD 25. They are given back, not dead-lettered, unless they have an ordering key. Mend the mapping, the table or the publisher; a sample is tried at 2026-01-01T00:01:00.000Z, or after a restart.",
  );
  expect(trips).toBe(1);
});

test("from the moment of the sample on it says what ends the state, also while no message comes", async () => {
  await run(200, 150);
  await clock.advance(minute - 1);
  expect(breaker.stateReason).toContain("a sample is tried at 2026-01-01T00:01:00.000Z, or after a restart.");
  await clock.advance(1);
  const now =
    "150 of the last 200 messages (75.0 %) were refused: TYPE_MISMATCH 112, UNKNOWN_FIELD 38. They are given back, not dead-lettered, unless they have an ordering key. Mend the mapping, the table or the publisher; the next 100 messages are a sample: all goes on when fewer than 50 % of them are refused, or after a restart.";
  expect(breaker.stateReason).toBe(now);
  await run(60, 0);
  expect(breaker).toMatchObject({ state: "TRIPPED", stateReason: now });
  await run(40, 0);
  expect(breaker).toMatchObject({ state: "ACTIVE", stateReason: "" });
});

describe("when it has tripped", () => {
  let held = { free: true };

  beforeEach(async () => {
    await run(200, 200);
    held = take(10);
  });

  test("nothing is taken for a minute, then a sample of a hundred, then nothing before its fate", async () => {
    await clock.advance(minute - 1);
    expect(held.free).toBe(false);
    await clock.advance(1);
    expect(held.free).toBe(true);
    const [first, second] = [take(60), take(60)];
    await clock.advance(0);
    expect([first.free, second.free]).toEqual([true, false]);
    expect(breaker.state).toBe("TRIPPED");
    await clock.advance(minute - 1);
    expect(second.free).toBe(false);
  });

  test("a sample that fares well ends it", async () => {
    await clock.advance(minute);
    breaker.judge(outcomes(10, 10)); // taken before it
    const sample = take(150);
    breaker.judge(outcomes(150, 60));
    await clock.advance(0);
    expect(sample.free).toBe(true);
    expect(breaker).toMatchObject({ state: "ACTIVE", stateReason: "" });
    expect(trips).toBe(1);
  });

  test("a sample that fares ill makes it wait twice as long each time, ten minutes at most", async () => {
    breaker.judge(outcomes(10, 0));
    await clock.advance(minute);
    for (const waitMs of [2, 4, 8, 10, 10].map((minutes) => minutes * minute)) {
      const sample = take(100);
      breaker.judge(outcomes(100, 50));
      await clock.advance(waitMs - 1);
      expect(sample.free).toBe(false);
      await clock.advance(1);
      expect(sample.free).toBe(true);
    }
    expect(trips).toBe(6);
  });

  test("what comes late from before does not judge the sample by itself", async () => {
    await clock.advance(minute);
    const sample = take(100);
    breaker.judge(outcomes(10, 10));
    await clock.advance(0);
    expect([sample.free, breaker.state]).toEqual([false, "TRIPPED"]);
    breaker.judge(outcomes(100, 0));
    await clock.advance(0);
    expect([sample.free, breaker.state]).toEqual([true, "ACTIVE"]);
  });

  test("the end is not waited for, and leaves no timer", async () => {
    stop.abort();
    await clock.advance(0);
    expect(held.free).toBe(true);
    expect(clock.pending).toBe(0);
  });
});

test("one that trips again soon after a good sample waits for longer; after a calm while it does not", async () => {
  const waitAfterTrip = async (): Promise<number> => {
    const before = clock.monotonic();
    await run(200, 200);
    const held = await run(1, 0);
    while (!held.free) await clock.advance(minute / 2);
    await run(100, 0);
    expect(breaker.state).toBe("ACTIVE");
    return (clock.monotonic() - before) / minute;
  };
  expect(await waitAfterTrip()).toBe(1);
  await clock.advance(9 * minute);
  expect(await waitAfterTrip()).toBe(2);
  await clock.advance(11 * minute);
  expect(await waitAfterTrip()).toBe(1);
});

test("a topic that was idle when the time came: what comes then is the sample", async () => {
  await run(200, 200);
  await clock.advance(5 * minute);
  const sample = take(100);
  await clock.advance(minute - 1);
  expect([sample.free, breaker.state]).toEqual([false, "TRIPPED"]);
  breaker.judge(outcomes(100, 0));
  await clock.advance(0);
  expect([sample.free, breaker.state]).toEqual([true, "ACTIVE"]);
});

test("a sample without a fate is enlarged after the pause: what is held may wait for another message", async () => {
  await run(200, 200);
  await clock.advance(minute);
  const sample = take(100);
  await clock.advance(minute - 1);
  expect(sample.free).toBe(false);
  await clock.advance(1);
  expect([sample.free, breaker.state]).toEqual([true, "TRIPPED"]);
  const more = take(100);
  breaker.judge(outcomes(100, 0));
  expect(breaker.state).toBe("TRIPPED");
  breaker.judge(outcomes(100, 99));
  await clock.advance(0);
  expect([more.free, breaker.state]).toEqual([true, "ACTIVE"]);
});
