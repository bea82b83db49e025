/**
 * Any document against any table: the transcoder says what the slow path says.
 * PROPERTY_SEED replays a run, PROPERTY_RUNS makes it longer.
 */
import { check, gen, nat, property } from "fast-check";
import { expect, test } from "vitest";
import type { Envelope } from "../support/payload-batch.ts";
import { Agreement } from "../support/agreement.ts";
import { chance, pick, times, type Choose } from "../support/random-choices.ts";
import { randomDocument, randomRawPayload } from "../support/random-document.ts";
import { randomOptions, randomRawTable, randomTable, withMetadata } from "../support/random-table.ts";
import { propertySeed } from "../support/property-seed.ts";

const runs = Number(process.env["PROPERTY_RUNS"] ?? 10_000);
const documentsPerTable = 3;

/** Runs `body` with choices that fast-check makes; throws what it threw for the smallest choices that fail. */
function forAnyChoices(numRuns: number, body: (choose: Choose) => void): void {
  // Every choice is drawn from one arbitrary: fast-check looks for arbitraries by their bounds, which takes longer than the test.
  const anyChoices = property(gen(), (draw) => body((min, max) => min + (draw(nat) % (max - min + 1))));
  const { failed, numRuns: run, errorInstance } = check(anyChoices, { seed: propertySeed, numRuns, unbiased: true });
  if (failed) throw new Error(`run ${run} fails, PROPERTY_SEED=${propertySeed}: ${String(errorInstance)}`);
}

function envelopeOf(choose: Choose): Envelope {
  return {
    messageId: String(choose(0, 1_000_000)),
    publishTimeMicros: BigInt(choose(0, 2_000_000_000)) * 1_000_003n,
    attributes: new Map(times(choose(0, 3), (i) => [`${pick(choose, ["k", 'a"b', "é", "__proto__"])}${i}`, "v\n😀"])),
    orderingKey: pick(choose, ["", "customer-7"]),
  };
}

test(`tables and documents, ${runs} runs, PROPERTY_SEED=${propertySeed}`, { timeout: 600_000 }, () => {
  let documents = 0;
  let rows = 0;
  forAnyChoices(runs, (choose) => {
    const table = randomTable(choose);
    const options = randomOptions(choose, table);
    const agreement = new Agreement(table, options);
    agreement.check(times(documentsPerTable, () => Buffer.from(randomDocument(choose, table, options))));
    documents += documentsPerTable;
    rows += agreement.rowCount;
  });
  // A generator whose documents never fit would prove nothing.
  expect(rows / documents).toBeGreaterThan(0.4);
});

test(`with metadata and in raw mode, PROPERTY_SEED=${propertySeed}`, { timeout: 600_000 }, () => {
  let rows = 0;
  forAnyChoices(Math.ceil(runs / 10), (choose) => {
    const envelope = envelopeOf(choose);
    const plain = randomTable(choose);
    const options = randomOptions(choose, plain);
    const raw = chance(choose, 40);
    const table = raw ? randomRawTable(choose) : plain;
    const mapping = { ...options, mode: raw ? ("raw" as const) : ("table" as const), ...(raw && { columns: {} }) };
    const setting = raw && chance(choose, 50) ? { table, options: mapping } : withMetadata(choose, table, mapping);
    const agreement = new Agreement(setting.table, setting.options);
    const payloads = times(documentsPerTable, () =>
      raw ? randomRawPayload(choose) : Buffer.from(randomDocument(choose, setting.table, setting.options)),
    );
    agreement.check(payloads, envelope);
    rows += agreement.rowCount;
  });
  expect(rows).toBeGreaterThan(0);
});
