import { beforeEach, expect, test } from "vitest";
import type { AppendObserver } from "../../../src/bigquery/append-observer.ts";
import { SchemaWatch } from "../../../src/bigquery/schema-watch.ts";
import { TableUnavailable } from "../../../src/bigquery/tables.ts";
import type { TableSchema } from "../../../src/schema/table-schema.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const tableOf = (name: string): TableSchema => ({
  columns: [{ name, type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false }],
  primaryKey: [],
});

const startMs = 1_700_000_000_000;
let clock: VirtualClock;
let table: TableSchema | Error;
let fetchMs: number;
/** When fetches began; monotonic milliseconds. */
let fetches: number[];
let seen: string[];
let results: string[];
let watch: SchemaWatch;

beforeEach(() => {
  clock = new VirtualClock(startMs);
  table = tableOf("a");
  fetchMs = 0;
  fetches = [];
  seen = [];
  results = [];
  const schemaRefreshed = (result: string): void => void results.push(result);
  watch = new SchemaWatch({
    fetch: async () => {
      fetches.push(clock.monotonic());
      const answer = table;
      await new Promise<void>((resolve) => void clock.setTimer(resolve, fetchMs));
      if (answer instanceof Error) throw answer;
      return answer;
    },
    intervalMs: () => 60_000,
    clock,
    random: () => 1,
    observer: { schemaRefreshed } as unknown as AppendObserver,
    changed: (schema) => seen.push(schema.columns[0]!.name),
    looked: () => undefined,
  });
});

/** Whether a refresh is done. */
function refreshed(): { done: boolean } {
  const state = { done: false };
  void watch.refresh().then(() => {
    state.done = true;
  });
  return state;
}

test("fetches on the schedule and tells of changes only", async () => {
  watch.refreshSoon();
  await clock.advance(130_000);
  expect(fetches).toEqual([0, 60_000, 120_000]);
  table = tableOf("b");
  await clock.advance(60_000);
  expect(seen).toEqual(["a", "b"]);
  expect(results).toEqual(["changed", "unchanged", "unchanged", "changed"]);
});

test("many requests share one fetch, and fetches keep their distance", async () => {
  watch.refreshSoon();
  await clock.advance(10_000);
  const first = [refreshed(), refreshed(), refreshed()];
  await clock.advance(1);
  expect(first).toEqual([{ done: true }, { done: true }, { done: true }]);
  const second = refreshed();
  await clock.advance(1998);
  expect(second.done).toBe(false);
  await clock.advance(1);
  expect(second.done).toBe(true);
  expect(fetches).toEqual([0, 10_000, 12_000]);
});

test("a refresh that is asked for during a fetch waits for the next one: that fetch may have been too early", async () => {
  fetchMs = 500;
  watch.refreshSoon();
  await clock.advance(100);
  table = tableOf("b");
  const asked = refreshed();
  await clock.advance(1000);
  expect([asked.done, seen]).toEqual([false, ["a"]]);
  await clock.advance(1400);
  expect([asked.done, seen]).toEqual([true, ["a", "b"]]);
  expect(fetches).toEqual([0, 2000]);
});

test("a notice during a fetch is not lost either", async () => {
  fetchMs = 500;
  watch.refreshSoon();
  await clock.advance(100);
  watch.refreshSoon();
  await clock.advance(5000);
  expect(fetches).toEqual([0, 2000]);
});

test("failed fetches are repeated with growing pauses; who waits goes on waiting", async () => {
  watch.refreshSoon();
  await clock.advance(10_000);
  table = new TableUnavailable({ state: "NOT_FOUND", reason: "gone" });
  const asked = refreshed();
  await clock.advance(8000);
  expect(fetches.slice(1)).toEqual([10_000, 11_000, 13_000, 17_000]);
  expect(watch.trouble).toEqual({ state: "NOT_FOUND", reason: "gone" });
  expect([asked.done, watch.awaited]).toEqual([false, true]);
  table = tableOf("a");
  await clock.advance(8000);
  expect([asked.done, watch.awaited, watch.trouble]).toEqual([true, false, undefined]);
  expect(seen).toEqual(["a"]);
});

test("tells whether the table was seen after a moment, and recently", async () => {
  expect(watch.sawAfter(0, Infinity)).toBe(false);
  watch.refreshSoon();
  await clock.advance(1000);
  expect(watch.sawAfter(startMs, 1000)).toBe(true);
  expect(watch.sawAfter(startMs + 1, 1000)).toBe(false);
  await clock.advance(1);
  expect(watch.sawAfter(startMs, 1000)).toBe(false);
});

test("closing ends timers and waiting", async () => {
  table = new TableUnavailable({ state: "NOT_FOUND", reason: "gone" });
  const asked = refreshed();
  await clock.advance(100);
  watch.close();
  await clock.advance(0);
  expect([asked.done, clock.pending]).toEqual([true, 0]);
  const late = refreshed();
  await clock.advance(0);
  expect(late.done).toBe(true);
});
