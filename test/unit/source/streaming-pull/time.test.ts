/** What is held for long, clocks that are set, and a machine that sleeps: in virtual time, against a modelled subscription. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Fates, type MessageBatch } from "../../../../src/message.ts";
import type { StreamingPull } from "../../../../src/source/streaming-pull.ts";
import { type ModelledSource, modelledSource, SourceCounts } from "../../../support/modelled-source.ts";
import { ModelSubscription } from "../../../support/model-subscription.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

vi.mock("../../../../src/lib/endpoint.ts", { spy: true });

const hour = 3_600_000;

let clock = new VirtualClock();
let service: ModelSubscription;
let counts = new SourceCounts();
let source: StreamingPull | undefined;
let stop = new AbortController();
/** Handed on and not settled. */
let batches: MessageBatch[] = [];

beforeEach(() => restart());
afterEach(() => close());

function restart(exactlyOnce = false): void {
  clock = new VirtualClock();
  counts = new SourceCounts();
  stop = new AbortController();
  batches = [];
  service = new ModelSubscription({ exactlyOnce, rewinds: true }, (min) => min, clock);
  service.calm = true;
}

async function open(options: Partial<ModelledSource> = {}): Promise<void> {
  const opened = modelledSource({ service, clock, counts, ...options });
  source = opened;
  await opened.open(stop.signal);
  void (async () => {
    for await (const batch of opened.batches(stop.signal)) batches.push(batch);
  })();
  await clock.advance(1);
}

async function close(): Promise<void> {
  if (!source) return;
  stop.abort();
  const closed = source.close();
  await clock.advance(10_000);
  await closed;
  source = undefined;
  expect(clock.pending).toBe(0);
}

async function deliver(messages: number): Promise<void> {
  for (let k = 0; k < messages; k++) service.publish("");
  service.deliver(messages);
  await clock.advance(10);
}

function settleAll(): void {
  for (const batch of batches.splice(0)) void source!.settle(batch, new Fates(batch.length));
}

const nothingHeld = { messages: 0, bytes: 0, leases: 0 };

/** Extensions and acks after a moment: `seconds method`, with the seconds of a new deadline. */
function callsSince(ms: number): string[] {
  return service.calls
    .filter(({ at }) => at >= ms)
    .map(({ at, method, seconds }) => `${at / 1000} ${method === "Acknowledge" ? "ack" : `+${seconds}`}`);
}

/** The leases end after 15 s and more, and everything is sent again and again while the old ones are in work. */
test("de-03: what is held counts until it is settled, also when its leases have ended", async () => {
  await open({
    pull: { maxOutstandingMessages: 100 },
    leases: { maxAckExtensionPeriodMs: 15_000, minDurationPerAckExtensionMs: 10_000 },
  });
  for (let k = 0; k < 5000; k++) service.publish("");
  for (let second = 0; second < 120; second++) {
    service.deliver(30);
    await clock.advance(1000);
  }
  expect(counts.mostHeld).toBe(120);
  expect(counts.held.messages).toBe(120);
  expect(counts.leaseEnds.length).toBeGreaterThan(0);
  for (let step = 0; step < 2000 && !service.settled; step++) {
    settleAll();
    service.deliver(30);
    await clock.advance(20);
  }
  await clock.advance(1000);
  settleAll();
  await clock.advance(1000);
  expect(service.settled).toBe(true);
  expect(counts.mostHeld).toBe(120);
  expect(counts.held).toEqual(nothingHeld);
});

describe("releaseAfter", () => {
  test("gives a batch back once, stops extending it, and counts it until it is settled", async () => {
    await open({ leases: { releaseAfterMs: 150_000 } });
    await deliver(3);
    await clock.advance(149_000);
    expect(service.calls.filter(({ seconds }) => seconds === 0)).toEqual([]);
    await clock.advance(1000);
    const released = service.calls.at(-1)!;
    expect([released.method, released.seconds, released.ackIds.length]).toEqual(["ModifyAckDeadline", 0, 3]);
    const calls = service.calls.length;
    await clock.advance(hour);
    expect(service.calls).toHaveLength(calls);
    expect(counts.leaseEnds).toEqual(["released 3"]);
    expect(counts.held.messages).toBe(3);
  });

  test("a copy that comes meanwhile is held beside it, and both are settled", async () => {
    await open({ leases: { releaseAfterMs: 150_000 } });
    await deliver(3);
    await clock.advance(150_000);
    service.deliver(3);
    await clock.advance(10);
    expect(batches.map(({ length }) => length)).toEqual([3, 3]);
    expect(counts.held.messages).toBe(6);
    settleAll();
    await clock.advance(10);
    expect(service.settled).toBe(true);
    expect(counts.held).toEqual(nothingHeld);
  });

  test("a batch of keys is released in whole; its copies are acked in order", async () => {
    await open({ leases: { releaseAfterMs: 150_000 } });
    for (let k = 0; k < 6; k++) service.publish("a");
    service.deliver(3);
    await clock.advance(1000);
    service.deliver(3);
    await clock.advance(150_000);
    service.deliver(6);
    await clock.advance(10);
    settleAll();
    await clock.advance(10);
    // The late acks of what was given back are sent all the same.
    expect(service.faults.filter((fault) => !fault.endsWith("nack, then ack"))).toEqual([]);
    expect(service.settled).toBe(true);
    expect(counts.held).toEqual(nothingHeld);
  });
});

describe("a wall clock that is set", () => {
  /** Everything that is asked of the service in two and a half hours, with an outage of half an hour in which leases end. */
  async function story(jumps: readonly number[]): Promise<unknown> {
    await open();
    await deliver(5);
    await clock.advance(20_000);
    for (const jump of jumps) clock.jump(jump);
    await clock.advance(hour);
    settleAll();
    service.outage = true;
    await clock.advance(hour / 4);
    for (const jump of jumps) clock.jump(-jump);
    await clock.advance(hour / 4);
    service.outage = false;
    await clock.advance(hour);
    const { calls, settled } = service;
    const { failures, leaseEnds, held } = counts;
    const told = { calls, settled, failures, leaseEnds, held };
    await close();
    return told;
  }

  test.each([
    ["forward by five hours", [5 * hour]],
    ["backward by five hours", [-5 * hour]],
    ["to and fro", [24 * hour, -30 * hour]],
  ])("%s: leases, retries and deadlines do not notice", async (_, jumps) => {
    const undisturbed = await story([]);
    expect(undisturbed).toMatchObject({ settled: true, leaseEnds: ["expired 5"], held: nothingHeld });
    restart();
    expect(await story(jumps)).toEqual(undisturbed);
  });
});

describe("a machine that sleeps", () => {
  test("for hours extends at once what it holds, and says that the leases had ended", async () => {
    await open();
    await deliver(5);
    await clock.advance(20_000);
    clock.leap(3 * hour);
    const wakes = clock.monotonic();
    await clock.advance(2000);
    expect(callsSince(wakes)[0]).toMatch(/^10820\.0\d+ \+\d+$/);
    expect(counts.leaseEnds).toEqual(["expired 5"]);
    settleAll();
    await clock.advance(10);
    expect(service.calls.at(-1)).toMatchObject({ method: "Acknowledge" });
    expect(counts.held).toEqual(nothingHeld);
  });

  test("with exactly-once delivery learns that its messages are not its own any more, and is left with nothing", async () => {
    restart(true);
    await open();
    await deliver(5);
    expect(batches).toHaveLength(1);
    clock.leap(3 * hour);
    await clock.advance(2000);
    expect(counts.failures).toEqual(["extend 5 INVALID_ARGUMENT"]);
    const calls = service.calls.length;
    await clock.advance(hour);
    expect(service.calls).toHaveLength(calls);
    settleAll();
    await clock.advance(1000);
    expect(counts.failures).toEqual(["extend 5 INVALID_ARGUMENT", "ack 5 INVALID_ARGUMENT"]);
    expect(counts.held).toEqual(nothingHeld);
    service.deliver(5);
    await clock.advance(10);
    settleAll();
    await clock.advance(10);
    expect(service.settled).toBe(true);
  });

  test("between two tries of an ack makes the next one when it wakes, and stays below its deadline", async () => {
    await open();
    await deliver(5);
    service.outage = true;
    settleAll();
    await clock.advance(60_000);
    clock.leap(2 * hour);
    const wakes = clock.monotonic();
    await clock.advance(1000);
    expect(callsSince(wakes).some((call) => call.endsWith("ack"))).toBe(true);
    service.outage = false;
    // Pauses are 10 s at most.
    await clock.advance(11_000);
    expect(counts.held).toEqual(nothingHeld);
    expect(counts.failures.filter((failure) => failure.startsWith("ack"))).toEqual([]);
  });

  test("long after the total limit gives an ack up after one more try", async () => {
    await open({ leases: { maxAckExtensionPeriodMs: hour } });
    await deliver(5);
    service.outage = true;
    settleAll();
    await clock.advance(60_000);
    clock.leap(2 * hour);
    const wakes = clock.monotonic();
    await clock.advance(60_000);
    expect(callsSince(wakes).filter((call) => call.endsWith("ack"))).toHaveLength(1);
    expect(counts.failures.filter((failure) => failure.startsWith("ack"))).toEqual(["ack 5 UNAVAILABLE"]);
    expect(counts.held).toEqual(nothingHeld);
  });
});
