/** The append path over real gRPC and REST, against the embedded BigQuery. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import type { BigQueryDestination, BigQueryDestinationOptions } from "../../src/bigquery/bigquery-destination.ts";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Outcomes } from "../../src/message.ts";
import { watchRejections } from "../support/destination-rig.ts";
import { emulatedDestination } from "../support/emulated-destination.ts";
import { eventually } from "../support/eventually.ts";
import { PayloadBatch } from "../support/payload-batch.ts";

const table = "p.d.t";
const columns = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "note", type: "STRING", maxLength: "40" },
];

let emulator: BigQueryEmulator;
let open: BigQueryDestination[];
let appended: number[];
let connections: number[];

const observer: AppendObserver = {
  appended: (rows) => appended.push(rows),
  committed: () => undefined,
  refused: () => undefined,
  retried: () => undefined,
  inFlight: () => undefined,
  connections: (count) => connections.push(count),
  writeStream: () => undefined,
  alreadyStored: () => undefined,
  outcomeUnknown: () => undefined,
  schemaRefreshed: () => undefined,
};

watchRejections();
beforeEach(async () => {
  emulator = await startBigQueryEmulator({ maxRequestBytes: 100_000 });
  emulator.createTable(table, columns);
  open = [];
  appended = [];
  connections = [];
});

afterEach(async () => {
  await Promise.all(open.map((destination) => destination.close()));
  await emulator.close();
});

function destination(options: Partial<BigQueryDestinationOptions> = {}): BigQueryDestination {
  const made = emulatedDestination(emulator, { observer, ...options });
  open.push(made);
  return made;
}

/** So that a lost connection costs no answers but the one that the test means. */
const oneInFlight = { maxInFlight: 1, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 };

const never = new AbortController().signal;

async function opened(options: Partial<BigQueryDestinationOptions> = {}): Promise<BigQueryDestination> {
  const made = destination(options);
  await made.open(never);
  return made;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** Delivers one message per id. */
function deliver(to: BigQueryDestination, ids: readonly number[], more: object = {}): Promise<Outcomes> {
  const payloads = ids.map((id) => Buffer.from(JSON.stringify({ id, ...more })));
  const envelope = {
    messageId: "m",
    publishTimeMicros: BigInt(Math.round(Date.now() * 1000)),
    attributes: new Map(),
    orderingKey: "",
  };
  return to.deliver(new PayloadBatch(payloads, envelope), never);
}

const storedIds = (): number[] => emulator.rows(table).map((row) => Number(row["id"]));
const ascending = (ids: readonly number[]): number[] => [...ids].sort((a, b) => a - b);

test("BigQuery refuses one row of 500: the others are in, the refusal has its words", async () => {
  // 8388488 = 0x7fff88 is the varint 88 ff ff 03, so the row of that id begins with 08 88 ff ff 03.
  emulator.faults.replace([
    {
      method: "AppendRows",
      call: "all",
      rowErrorsContaining: { bytes: "0888ffff03", message: "Field id: blocked, on field id." },
    },
  ]);
  const to = await opened();
  const ids = range(0, 500).map((id) => (id === 137 ? 8_388_488 : id));
  const outcomes = await deliver(to, ids);
  expect([...outcomes.exceptions]).toEqual([
    [
      137,
      {
        kind: "refused",
        refusal: {
          code: "ROW_REJECTED",
          path: "id",
          stage: "append",
          message: "BigQuery refused the value of this column",
          serverMessage: "Field id: blocked, on field id.",
        },
      },
    ],
  ]);
  expect(storedIds()).toEqual(ids.filter((_, i) => i !== 137));
});

test("the connection is lost before a request took effect: nothing is lost, nothing twice", async () => {
  emulator.faults.replace([{ method: "AppendRows", call: 3, disconnect: "before" }]);
  const to = await opened({ append: oneInFlight });
  const outcomes = await deliver(to, range(0, 5000));
  expect(outcomes.exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(0, 5000));
});

test("the connection is lost after a request took effect: nothing is lost, and that request is there twice", async () => {
  emulator.faults.replace([{ method: "AppendRows", call: 3, disconnect: "after" }]);
  const to = await opened({ append: oneInFlight });
  const outcomes = await deliver(to, range(0, 5000));
  expect(outcomes.exceptions.size).toBe(0);
  const ids = storedIds();
  expect([...new Set(ids)]).toEqual(range(0, 5000));
  expect(ids.length).toBe(5500);
});

test("with eight in flight, answers go to their requests whatever each of them says", async () => {
  emulator.faults.replace([
    { method: "AppendRows", call: 2, delayMs: 60, rowErrors: [{ index: 7, message: "no" }] },
    { method: "AppendRows", call: 5, error: { status: "INTERNAL", message: "once" } },
    { method: "AppendRows", call: 6, delayMs: 30, rowErrors: [{ index: 0, message: "no" }] },
    { method: "AppendRows", call: 8, error: { status: "ABORTED", message: "once" } },
  ]);
  const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 50, maxDelayMs: 5 } });
  const outcomes = await Promise.all(range(0, 10).map((n) => deliver(to, range(n * 50, n * 50 + 50))));
  const refused = outcomes.flatMap(({ exceptions }, n) => [...exceptions.keys()].map((message) => n * 50 + message));
  // Request 2 has the rows 50–99, request 6 the rows 250–299.
  expect(refused).toEqual([57, 250]);
  expect(ascending(storedIds())).toEqual(range(0, 500).filter((id) => !refused.includes(id)));
});

test("a column added while running is filled from the first message that brings it; what is in flight is stored", async () => {
  emulator.faults.replace([{ method: "AppendRows", call: "1-4", delayMs: 200 }]);
  const to = await opened();
  const before = deliver(to, range(0, 2000));
  await eventually("requests are in flight", () => (emulator.appendRequests >= 4 ? true : undefined));
  emulator.patchTable(table, [...columns, { name: "added", type: "STRING" }]);
  const after = await deliver(to, range(2000, 2100), { added: "x" });
  expect([(await before).exceptions.size, after.exceptions.size]).toEqual([0, 0]);
  const rows = emulator.rows(table);
  expect(ascending(rows.map((row) => Number(row["id"])))).toEqual(range(0, 2100));
  for (const row of rows) expect(row["added"]).toBe(Number(row["id"]) < 2000 ? null : "x");
  expect(new Set(connections)).toEqual(new Set([1]));
});

test("a column dropped while running: rows are transcoded again under what is left", async () => {
  const to = await opened({ schemaRefreshIntervalMs: 600_000 });
  await deliver(to, [1]);
  emulator.deleteTable(table);
  emulator.createTable(table, columns.slice(0, 1));
  const outcomes = await deliver(to, range(2, 100));
  expect(outcomes.exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(2, 100));
});

test("a request that BigQuery calls too large is sent in halves", async () => {
  const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 50_000, maxDelayMs: 5 } });
  const outcomes = await deliver(to, range(0, 20_000), { note: "thirty-six bytes, give or take some.." });
  expect(outcomes.exceptions.size).toBe(0);
  // 20,000 rows of some 45 bytes are nine times what the server takes.
  expect(appended.length).toBeGreaterThanOrEqual(9);
  expect(storedIds()).toEqual(range(0, 20_000));
});

test("a table deleted and made again: held with its state meanwhile, then everything is written", async () => {
  const to = await opened();
  await deliver(to, [1]);
  emulator.deleteTable(table);
  const delivered = deliver(to, range(2, 50));
  await eventually("the state says so", () => (to.state === "NOT_FOUND" ? true : undefined));
  expect(to.stateReason).toContain(table);
  emulator.createTable(table, columns);
  expect((await delivered).exceptions.size).toBe(0);
  expect(storedIds()).toEqual(range(2, 50));
  expect(to.state).toBe("ACTIVE");
});

test("a table that is missing at first holds the opening back", async () => {
  emulator.deleteTable(table);
  const to = destination();
  const opening = to.open(never);
  await eventually("the state says so", () => (to.state === "NOT_FOUND" ? true : undefined));
  emulator.createTable(table, columns);
  await opening;
  expect((await deliver(to, [1])).exceptions.size).toBe(0);
  expect(storedIds()).toEqual([1]);
});

test("a permission taken away for a while: nothing is refused, everything is written", async () => {
  emulator.faults.replace([
    { method: "AppendRows", call: 2, error: { status: "PERMISSION_DENIED", message: "no" } },
    { method: "AppendRows", call: 3, status: "PERMISSION_DENIED", message: "no" },
  ]);
  const to = await opened();
  const outcomes = await Promise.all([deliver(to, range(0, 1200)), deliver(to, range(1200, 3000))]);
  expect(outcomes.map(({ exceptions }) => exceptions.size)).toEqual([0, 0]);
  expect(ascending([...new Set(storedIds())])).toEqual(range(0, 3000));
});

test("a storm of faults on several connections loses nothing", async () => {
  emulator.faults.replace([
    ...[3, 9, 21, 40].map((call) => ({ method: "AppendRows", call, disconnect: "before" as const })),
    ...[15, 33].map((call) => ({ method: "AppendRows", call, disconnect: "after" as const })),
    ...[5, 12, 28].map((call) => ({ method: "AppendRows", call, status: "UNAVAILABLE" as const })),
    ...[7, 18, 36].map((call) => ({
      method: "AppendRows",
      call,
      error: { status: "INTERNAL" as const, message: "m" },
    })),
    ...[2, 19, 31].map((call) => ({ method: "AppendRows", call, delayMs: 40 })),
  ]);
  const to = await opened({
    batch: { maxBytes: 1 << 20, maxRows: 100, maxDelayMs: 2 },
    append: { maxInFlight: 3, minConnections: 3, maxConnections: 3, maxRequestBytes: 9 << 20 },
  });
  const outcomes = await Promise.all(range(0, 40).map((n) => deliver(to, range(n * 130, n * 130 + 130))));
  expect(outcomes.map(({ exceptions }) => exceptions.size)).toEqual(outcomes.map(() => 0));
  const ids = storedIds();
  expect(ascending([...new Set(ids)])).toEqual(range(0, 5200));
  await to.close();
});

test("drain: what is in is durable, what is not is abandoned, and none is both", async () => {
  emulator.faults.replace([{ method: "AppendRows", call: "4-", delayMs: 60_000 }]);
  const to = await opened();
  const delivered = deliver(to, range(0, 5000));
  await eventually("three requests are stored", () => (appended.length === 3 ? true : undefined));
  await to.drain(systemClock.monotonic() + 100);
  const { exceptions } = await delivered;
  expect([...exceptions.keys()].sort((a, b) => a - b)).toEqual(range(1500, 5000));
  expect([...exceptions.values()].every(({ kind }) => kind === "abandoned")).toBe(true);
});
