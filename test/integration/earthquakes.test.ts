/**
 * Real, messy data on the whole way: a week of earthquakes as the USGS published it (GeoJSON features, epoch
 * milliseconds, nulls), from the package vega-datasets, through `map` and through a pipeline.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { PipelineHarness } from "../support/pipeline-harness.ts";

interface Feature {
  readonly type: string;
  readonly id: string;
  readonly properties: Readonly<Record<string, string | number | null>>;
  readonly geometry: { readonly type: string; readonly coordinates: readonly number[] };
}

const root = new URL("../..", import.meta.url).pathname;
const table = `${root}schemas/earthquakes/table.json`;
const fields = JSON.parse(readFileSync(table, "utf8")) as { name: string; fields?: { name: string; type: string }[] }[];
const { features } = JSON.parse(readFileSync(`${root}node_modules/vega-datasets/data/earthquakes.json`, "utf8")) as {
  features: Feature[];
};
const payloads = features.map((feature) => JSON.stringify(feature));
const columns = { "properties.time": { timestampUnit: "millis" }, "properties.updated": { timestampUnit: "millis" } };

let pubsub: PubSubEmulator;
let bigquery: BigQueryEmulator;

beforeAll(async () => {
  [pubsub, bigquery] = await Promise.all([startPubSubEmulator(), startBigQueryEmulator()]);
});
afterAll(async () => {
  await Promise.all([pubsub.close(), bigquery.close()]);
});

/** The properties of a feature as `map` should print them, worked out from the parsed file. */
function expectedProperties(feature: Feature): Record<string, unknown> {
  const types = fields.find((field) => field.name === "properties")!.fields!;
  return Object.fromEntries(
    types.map(({ name, type }) => {
      const value = feature.properties[name] ?? null;
      if (value === null || type === "STRING" || type === "FLOAT64") return [name, value];
      if (type === "INT64") return [name, String(value)];
      return [name, new Date(Number(value)).toISOString().replace("Z", "000Z")];
    }),
  );
}

test("map: every feature becomes the row that plain arithmetic says", () => {
  const sets = Object.entries(columns).map(([path, { timestampUnit }]) => [
    "--set",
    `bigquery.columns.${path}.timestampUnit=${timestampUnit}`,
  ]);
  const result = spawnSync(
    process.execPath,
    [`${root}src/cli.ts`, "map", "--raw", "--use-table-schema", "--table", table, ...sets.flat(), "-"],
    { input: `${payloads.join("\n")}\n`, encoding: "utf8", maxBuffer: 1 << 28 },
  );
  expect(result.stderr).toBe("");
  expect(result.status).toBe(0);
  const rows = result.stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { row: unknown }).row);
  expect(rows).toHaveLength(1707);
  expect(rows).toEqual(
    features.map((feature) => ({
      type: "Feature",
      properties: expectedProperties(feature),
      geometry: feature.geometry,
      id: feature.id,
    })),
  );
});

test("run: every feature is in the table once, exactly", async () => {
  const harness = await PipelineHarness.create({ pubsub: `${pubsub.host}:${pubsub.port}`, bigquery }, fields);
  await harness.publish(payloads);
  const millrace = harness.start({ bigquery: { table: harness.table, useTableSchema: true, columns } });
  const { rows, letters } = await harness.arrived(1707, 0);
  expect(await millrace.stop()).toBe(0);
  await harness.close();

  expect(letters).toEqual([]);
  expect(rows).toHaveLength(1707);
  const byId = new Map(rows.map((row) => [row["id"], row]));
  for (const feature of features) {
    const row = byId.get(feature.id)!;
    const properties = row["properties"] as Record<string, string | null>;
    expect(BigInt(properties["time"]!)).toBe(BigInt(feature.properties["time"]!) * 1000n);
    expect(properties["felt"]).toBe(feature.properties["felt"] === null ? null : String(feature.properties["felt"]));
    expect(properties["place"]).toBe(feature.properties["place"]);
    const { coordinates } = row["geometry"] as { coordinates: string[] };
    expect(coordinates.map(Number)).toEqual(feature.geometry.coordinates);
  }
});
