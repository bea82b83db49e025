/** Ordering keys over real gRPC, against the embedded BigQuery with faults of all kinds. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import type { BigQueryDestination } from "../../src/bigquery/bigquery-destination.ts";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { emulatedDestination } from "../support/emulated-destination.ts";
import { KeyedBatch } from "../support/keyed-batch.ts";

const table = "p.d.t";
const keys = 1000;
const perKey = 50;
const observer = new Proxy({} as AppendObserver, { get: () => () => undefined });
const never = new AbortController().signal;

let emulator: BigQueryEmulator;
let destination: BigQueryDestination;

beforeEach(async () => {
  emulator = await startBigQueryEmulator();
  emulator.createTable(table, [
    { name: "key", type: "INT64" },
    { name: "number", type: "INT64" },
    { name: "kind", type: "STRING" },
  ]);
  destination = emulatedDestination(emulator, {
    batch: { maxBytes: 1 << 20, maxRows: 700, maxDelayMs: 5 },
    append: { maxInFlight: 4, minConnections: 3, maxConnections: 3, maxRequestBytes: 9 << 20 },
    observer,
  });
  await destination.open(never);
});

afterEach(async () => {
  await destination.close();
  await emulator.close();
});

/** One round: a message of each key. */
function round(number: number, kindOf: (key: number) => string): KeyedBatch {
  const messages = Array.from({ length: keys }, (_, key) => ({
    key: `key ${key}`,
    payload: JSON.stringify({ key, number, kind: kindOf(key) }),
    id: `${key}-${number}`,
  }));
  return new KeyedBatch(messages);
}

test(`${keys} keys with ${perKey} messages each: no row is stored before an earlier one of its key`, async () => {
  const poison = Buffer.from("poison").toString("hex");
  emulator.faults.replace([
    // The first that applies is the one: what is not wanted never gets in.
    { method: "AppendRows", rowErrorsContaining: { bytes: poison, message: "not wanted", atMost: 1 } },
    { method: "AppendRows", every: 7, delayMs: 30 },
    { method: "AppendRows", every: 11, status: "UNAVAILABLE" },
    { method: "AppendRows", every: 13, error: { status: "ABORTED", message: "Scripted refusal" } },
    { method: "AppendRows", every: 17, disconnect: "before" },
    { method: "AppendRows", every: 23, disconnect: "after" },
    { method: "AppendRows", every: 29, error: { status: "INVALID_ARGUMENT", message: "request too large" } },
  ]);
  const refused = (key: number, number: number): boolean => (key * perKey + number) % 1009 === 1008;
  const delivered = await Promise.all(
    Array.from({ length: perKey }, (_, number) =>
      destination.deliver(
        round(number, (key) => (refused(key, number) ? "poison" : "good")),
        never,
      ),
    ),
  );
  const seen: number[][] = Array.from({ length: keys }, () => []);
  for (const row of emulator.rows(table)) {
    const numbers = seen[Number(row["key"])]!;
    if (!numbers.includes(Number(row["number"]))) numbers.push(Number(row["number"]));
  }
  const expected = Array.from({ length: keys }, (_, key) =>
    Array.from({ length: perKey }, (_, number) => number).filter((number) => !refused(key, number)),
  );
  expect(seen).toEqual(expected);
  const outcomes = new Map(
    delivered.flatMap(({ exceptions }, number) =>
      [...exceptions].map(([key, { kind }]) => [key * perKey + number, kind] as const),
    ),
  );
  const poisoned = Array.from({ length: keys * perKey }, (_, i) => i).filter((i) => i % 1009 === 1008);
  expect(outcomes).toEqual(new Map(poisoned.map((i) => [i, "refused"])));
}, 60_000);
