/** Valid documents with something broken in them. FUZZ_SEED replays a run, FUZZ_RUNS makes it longer. */
import { expect, test } from "vitest";
import { mutated } from "../support/hostile-payloads.ts";
import { runHostile } from "../support/hostile-run.ts";
import { pick } from "../support/random-choices.ts";
import { fuzzSeed } from "../support/property-seed.ts";

const count = Math.ceil(Number(process.env["FUZZ_RUNS"] ?? 100_000) / 2);

test(`${count} broken documents, FUZZ_SEED=${fuzzSeed}`, { timeout: 600_000 }, () => {
  const run = runHostile(fuzzSeed, count, (choose, { documents }) => mutated(choose, pick(choose, documents)));
  expect(run.payloads).toBe(count);
  // Some mutations leave the document whole: otherwise they would all break it in the same dull way.
  expect(run.rows / count).toBeGreaterThan(0.03);
  expect(run.slowestMs).toBeLessThan(200);
});
