/** Garbage that looks like JSON, and bytes from nowhere. FUZZ_SEED replays a run, FUZZ_RUNS makes it longer. */
import { expect, test } from "vitest";
import { garbage } from "../support/hostile-payloads.ts";
import { runHostile } from "../support/hostile-run.ts";
import { fuzzSeed } from "../support/property-seed.ts";

const count = Math.floor(Number(process.env["FUZZ_RUNS"] ?? 100_000) / 2);

test(`${count} pieces of garbage, FUZZ_SEED=${fuzzSeed}`, { timeout: 600_000 }, () => {
  const run = runHostile(fuzzSeed, count, (choose, { keys }) => garbage(choose, keys));
  expect(run.payloads).toBe(count);
  expect(run.rows).toBeGreaterThan(0);
  expect(run.slowestMs).toBeLessThan(200);
});
