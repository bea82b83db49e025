/** The destination: 300 of 10,000 rows are refused by BigQuery, which names some of them only, or none. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import type { BigQueryDestinationOptions } from "../../../../src/bigquery/bigquery-destination.ts";
import { type Delivered, DestinationRig, fates, watchRejections } from "../../../support/destination-rig.ts";
import { type FakeAnswer, stored } from "../../../support/fake-append-service.ts";
import { propertySeed } from "../../../support/property-seed.ts";
import { choicesOf, shuffled } from "../../../support/random-choices.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

const messages = 10_000;
const badRows = 300;

interface Figures {
  readonly requests: number;
  /** Rows on the wire, per message. */
  readonly rowsSent: number;
  readonly seconds: number;
}

/** Delivers 10,000 messages of which some are refused, with at most so many named in an answer. */
async function run(batchRows: number, positions: readonly number[], named: number): Promise<Figures> {
  const bad = new Set(positions);
  const options: Partial<BigQueryDestinationOptions> = {
    batch: { maxBytes: 1 << 20, maxRows: batchRows, maxDelayMs: 20 },
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 },
  };
  const to = await rig.opened(options);
  const inTable = new Map<string, number>();
  rig.service.react = ({ rows }) => {
    const indexes = rows.flatMap((row, index) => (row.startsWith("poison") ? [index] : []));
    if (indexes.length === 0) {
      for (const row of rows) inTable.set(row, (inTable.get(row) ?? 0) + 1);
      return stored;
    }
    return refusal(indexes.slice(0, named));
  };
  const delivered: Delivered[] = [];
  for (let from = 0; from < messages; from += 500) {
    const payloads = Array.from({ length: 500 }, (_, i) => `${bad.has(from + i) ? "poison" : "good"} ${from + i}`);
    delivered.push(rig.deliver(to, payloads));
  }
  const startMs = rig.clock.monotonic();
  while (delivered.some(({ outcomes }) => !outcomes)) {
    if (rig.clock.monotonic() - startMs > 120_000) throw new Error("still messages without a fate");
    await rig.clock.advance(20);
  }
  const expected = Array.from({ length: messages }, (_, i) => (bad.has(i) ? "ROW_REJECTED" : "durable"));
  expect(delivered.flatMap((one) => fates(one)!)).toEqual(expected);
  expect([...inTable.values()]).toEqual(Array.from({ length: messages - bad.size }, () => 1));
  return {
    requests: rig.service.requests.length,
    rowsSent: rig.service.rows.length / messages,
    seconds: (rig.clock.monotonic() - startMs) / 1000,
  };
}

function refusal(indexes: readonly number[]): FakeAnswer {
  const error = { code: status.INVALID_ARGUMENT, message: "Errors found while processing rows" };
  return indexes.length === 0
    ? { error }
    : { error, rowErrors: indexes.map((index) => ({ index, message: "not wanted" })) };
}

const spread = Array.from({ length: badRows }, (_, i) => Math.floor(((i + 0.5) * messages) / badRows));
const together = Array.from({ length: badRows }, (_, i) => 4321 + i);
const anywhere = shuffled(
  choicesOf(propertySeed),
  Array.from({ length: messages }, (_, i) => i),
).slice(0, badRows);

const layouts = [
  ["evenly spread", spread],
  ["side by side", together],
  [`anywhere (PROPERTY_SEED=${propertySeed})`, anywhere],
] as const;

for (const batchRows of [500, 1000, 10_000]) {
  test.each(layouts)(`batches of ${batchRows} rows, bad ones %s: one named in each answer`, async (_, positions) => {
    const { requests, rowsSent } = await run(batchRows, positions, 1);
    expect(requests).toBeLessThanOrEqual(1.2 * badRows + messages / batchRows);
    // Five times at each size of the parts, halved as often as there are five bad rows in one; some more for the last ones.
    expect(rowsSent).toBeLessThanOrEqual(5 * (Math.log2(badRows / 5) + 1));
  });

  test.each(layouts)(`batches of ${batchRows} rows, bad ones %s: none is ever named`, async (_, positions) => {
    const { requests, rowsSent, seconds } = await run(batchRows, positions, 0);
    expect(requests).toBeLessThanOrEqual(16 * badRows);
    // All of them as often as it takes until parts are as many as bad rows, then ever fewer; some more for the way to the first good one.
    expect(rowsSent).toBeLessThanOrEqual(Math.log2(badRows) + 5);
    // The table is looked at every two seconds at most.
    expect(seconds).toBeLessThan(12);
  });
}
