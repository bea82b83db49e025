/** `delivery: exactlyOnce` over real gRPC and REST, against the embedded BigQuery: rows are counted, each must be there once. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import type { BigQueryDestination, BigQueryDestinationOptions } from "../../src/bigquery/bigquery-destination.ts";
import {
  type BigQueryEmulator,
  type BigQueryEmulatorOptions,
  startBigQueryEmulator,
} from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Outcomes } from "../../src/message.ts";
import { emulatedDestination } from "../support/emulated-destination.ts";
import { eventually } from "../support/eventually.ts";
import { watchRejections } from "../support/destination-rig.ts";
import { PayloadBatch } from "../support/payload-batch.ts";
import { SteppedClock } from "../support/stepped-clock.ts";

const table = "p.d.t";
const columns = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "note", type: "STRING" },
];

let emulator: BigQueryEmulator;
let open: BigQueryDestination[];
let events: string[];
let counts: Map<string, number>;

watchRejections();
beforeEach(() => {
  open = [];
  events = [];
  counts = new Map();
});
afterEach(async () => {
  await Promise.all(open.map((destination) => destination.close()));
  await emulator.close();
});

const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);
const observer: AppendObserver = {
  appended: (rows) => add("appended", rows),
  committed: () => undefined,
  refused: (_, messages) => add("refused", messages),
  retried: () => undefined,
  inFlight: () => undefined,
  connections: () => undefined,
  writeStream: (event) => void events.push(event),
  alreadyStored: (rows) => add("already stored", rows),
  outcomeUnknown: (rows) => add("unknown", rows),
  schemaRefreshed: () => undefined,
};

async function serve(options: BigQueryEmulatorOptions = {}): Promise<void> {
  emulator = await startBigQueryEmulator(options);
  emulator.createTable(table, columns);
}

const inFlight = (maxInFlight: number, connections = 1): BigQueryDestinationOptions["append"] => ({
  maxInFlight,
  minConnections: connections,
  maxConnections: connections,
  maxRequestBytes: 9 << 20,
});

const never = new AbortController().signal;

function destination(options: Partial<BigQueryDestinationOptions> = {}): BigQueryDestination {
  const made = emulatedDestination(emulator, {
    batch: { maxBytes: 1 << 20, maxRows: 50, maxDelayMs: 2 },
    append: inFlight(4),
    delivery: "exactlyOnce",
    observer,
    ...options,
  });
  open.push(made);
  return made;
}

async function opened(options: Partial<BigQueryDestinationOptions> = {}): Promise<BigQueryDestination> {
  const made = destination(options);
  await made.open(never);
  return made;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

function deliver(to: BigQueryDestination, ids: readonly number[], clock: Clock = systemClock): Promise<Outcomes> {
  const payloads = ids.map((id) => Buffer.from(JSON.stringify({ id })));
  const envelope = {
    messageId: "m",
    publishTimeMicros: BigInt(Math.round(clock.now() * 1000)),
    attributes: new Map(),
    orderingKey: "",
  };
  return to.deliver(new PayloadBatch(payloads, envelope), never);
}

const storedIds = (): number[] =>
  emulator
    .rows(table)
    .map((row) => Number(row["id"]))
    .sort((a, b) => a - b);

test("answers get lost, connections are cut and reset, requests fail: each row is there once", async () => {
  await serve({
    faults: [
      ...[3, 17, 40].map((call) => ({ method: "AppendRows", call, disconnect: "after" as const })),
      ...[5, 23, 61].map((call) => ({ method: "AppendRows", call, disconnect: "before" as const })),
      ...[9, 30].map((call) => ({ method: "AppendRows", call, reset: "after" as const })),
      ...[12, 50].map((call) => ({ method: "AppendRows", call, status: "INTERNAL" as const, done: true as const })),
      ...[14, 33, 70].map((call) => ({
        method: "AppendRows",
        call,
        error: { status: "ABORTED" as const, message: "once" },
      })),
      ...[20, 45].map((call) => ({ method: "AppendRows", call, goaway: true as const })),
      ...[2, 21, 55].map((call) => ({ method: "AppendRows", call, delayMs: 60 })),
    ],
  });
  const to = await opened({ append: inFlight(4, 2) });
  const outcomes = await Promise.all(range(0, 60).map((n) => deliver(to, range(n * 100, n * 100 + 100))));
  expect(outcomes.map(({ exceptions }) => exceptions.size)).toEqual(outcomes.map(() => 0));
  expect(storedIds()).toEqual(range(0, 6000));
  expect(counts.get("appended")).toBe(6000);
  expect(counts.get("already stored")).toBeGreaterThan(0);
  expect(counts.get("unknown")).toBeUndefined();
});

test("rows are refused while answers get lost: the good ones are there once, the bad ones are refused once", async () => {
  // 8388488 = 0x7fff88 is the varint 88 ff ff 03, so the row of that id begins with 08 88 ff ff 03.
  const bad = 8_388_488;
  const rowErrorsContaining = { bytes: "0888ffff03", message: "Field id: blocked, on field id." };
  await serve({
    faults: [
      ...[4, 11, 18].map((call) => ({ method: "AppendRows", call, disconnect: "after" as const })),
      { method: "AppendRows", call: "all", rowErrorsContaining },
    ],
  });
  const to = await opened();
  const good = range(0, 3000);
  const ids = [...good.slice(0, 500), bad, ...good.slice(500, 1700), bad, bad, ...good.slice(1700)];
  const outcomes = await deliver(to, ids);
  expect([...outcomes.exceptions.keys()].sort((a, b) => a - b)).toEqual([500, 1701, 1702]);
  expect(storedIds()).toEqual(good);
  expect(counts.get("refused")).toBe(3);
});

test.each([
  ["is cut off", 0],
  ["restarts with grace", 500],
])("the server %s, again and again: each row is there once, in the same stream", async (_, graceMs) => {
  await serve({ faults: [{ method: "AppendRows", delayMs: 3 }] });
  const to = await opened();
  const delivered = Promise.all(range(0, 40).map((n) => deliver(to, range(n * 100, n * 100 + 100))));
  for (let restart = 1; restart <= 3; restart++) {
    await eventually("some rows are in", () => (emulator.rowCount(table) > restart * 700 ? true : undefined));
    await emulator.restartStorage(graceMs);
  }
  expect((await delivered).map(({ exceptions }) => exceptions.size)).toEqual(range(0, 40).map(() => 0));
  expect(storedIds()).toEqual(range(0, 4000));
  expect(events).toEqual(["created"]);
});

test("the quota of CreateWriteStream is used up: held with its state, then written", async () => {
  await serve({ faults: [{ method: "CreateWriteStream", call: "1-2", status: "RESOURCE_EXHAUSTED" }] });
  const to = await opened();
  const delivered = deliver(to, range(0, 100));
  await eventually("the state says so", () => (to.state === "THROTTLED" ? true : undefined));
  expect((await delivered).exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(0, 100));
  expect(to.state).toBe("ACTIVE");
});

test("a table deleted and made again: held meanwhile, then written to a new stream", async () => {
  await serve();
  const to = await opened();
  await deliver(to, [1]);
  emulator.deleteTable(table);
  const delivered = deliver(to, range(2, 200));
  await eventually("the state says so", () => (to.state === "NOT_FOUND" ? true : undefined));
  emulator.createTable(table, columns);
  expect((await delivered).exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(2, 200));
  expect(counts.get("unknown")).toBeUndefined();
});

test("a column that is added while answers get lost: old rows are finished under the old schema, each once", async () => {
  await serve({ faults: [4, 9].map((call) => ({ method: "AppendRows", call, disconnect: "after" as const })) });
  const to = await opened();
  const before = deliver(to, range(0, 1000));
  await eventually("some rows are in", () => (emulator.rowCount(table) > 100 ? true : undefined));
  emulator.patchTable(table, [...columns, { name: "added", type: "STRING" }]);
  const payloads = range(1000, 1100).map((id) => Buffer.from(JSON.stringify({ id, added: "x" })));
  const envelope = {
    messageId: "m",
    publishTimeMicros: BigInt(Math.round(Date.now() * 1000)),
    attributes: new Map(),
    orderingKey: "",
  };
  const after = to.deliver(new PayloadBatch(payloads, envelope), never);
  expect([(await before).exceptions.size, (await after).exceptions.size]).toEqual([0, 0]);
  expect(storedIds()).toEqual(range(0, 1100));
  for (const row of emulator.rows(table)) expect(row["added"]).toBe(Number(row["id"]) < 1000 ? null : "x");
  await eventually("the old stream is finalized", () => (events.includes("finalized") ? true : undefined));
  expect(events.filter((event) => event !== "finalized")).toEqual(["created", "rotated", "created"]);
});

test("a drain that gets no answers finds out what is in; what it gives back is written once by whoever is next", async () => {
  // The fifth takes effect, and its connection is silent for good: those behind it do not.
  await serve({ faults: [{ method: "AppendRows", call: 5, hang: "after" }] });
  const first = await opened({ append: inFlight(8) });
  const delivered = deliver(first, range(0, 2000));
  await eventually("appends hang", () => (emulator.appendRequests >= 5 ? true : undefined));
  await first.drain(systemClock.monotonic() + 1000);
  const { exceptions } = await delivered;
  await first.close();
  const givenBack = [...exceptions.keys()].sort((a, b) => a - b);
  expect(givenBack).toEqual(range(250, 2000));
  expect(storedIds()).toEqual(range(0, 250));
  emulator.faults.replace([]);
  const second = await opened();
  expect((await deliver(second, givenBack)).exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(0, 2000));
});

describe("in virtual time", () => {
  const hourMs = 3_600_000;

  async function stage(
    options: BigQueryEmulatorOptions = {},
  ): Promise<{ clock: SteppedClock; to: BigQueryDestination }> {
    const clock = new SteppedClock();
    await serve({ ...options, clock });
    const to = destination({ clock });
    void to.open(never);
    await clock.until("the destination is open", () => to.state === "ACTIVE", 5000, 10);
    return { clock, to };
  }

  async function delivering(clock: SteppedClock, to: BigQueryDestination, ids: readonly number[]): Promise<void> {
    let outcomes: Outcomes | undefined;
    void deliver(to, ids, clock).then((known) => {
      outcomes = known;
    });
    await clock.until("the rows have their fate", () => outcomes !== undefined, 900_000, 50);
    expect(outcomes!.exceptions.size).toBe(0);
  }

  test("a stream is left before BigQuery forgets it, though nothing was written for days", async () => {
    const { clock, to } = await stage();
    await delivering(clock, to, range(0, 100));
    await clock.advance(47 * hourMs, hourMs);
    await delivering(clock, to, range(100, 200));
    await clock.advance(80 * hourMs, hourMs);
    await delivering(clock, to, range(200, 300));
    expect(storedIds()).toEqual(range(0, 300));
    expect(events.filter((event) => event !== "finalized")).toEqual(["created", "rotated", "created"]);
    expect(counts.get("unknown")).toBeUndefined();
  });

  test.each(["before", "after"] as const)(
    "an append that never gets its answer, lost %s it took effect: after five minutes it is sent again, and is there once",
    async (hang) => {
      const { clock, to } = await stage({ faults: [{ method: "AppendRows", call: 1, hang }] });
      await delivering(clock, to, range(0, 100));
      expect(storedIds()).toEqual(range(0, 100));
      expect(clock.monotonic()).toBeGreaterThan(300_000);
      expect(counts.get("already stored")).toBe(hang === "after" ? 50 : undefined);
    },
  );

  test("a connection closed for want of traffic: the stream goes on behind its last row", async () => {
    const { clock, to } = await stage();
    for (const n of range(0, 4)) {
      await delivering(clock, to, range(n * 10, n * 10 + 10));
      await clock.advance(700_000, 1000);
    }
    expect(storedIds()).toEqual(range(0, 40));
    expect(events).toEqual(["created"]);
    expect(emulator.appendRequests).toBe(4);
  });
});
