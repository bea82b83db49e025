import { afterEach, describe, expect, test, vi } from "vitest";
import { defaultSettings, readMappingRequest } from "../../../src/commands/mapping-request.ts";
import { mappingOptionsOf, pipelineFromSettings } from "../../../src/config-file.ts";

const table = new URL("../../../schemas/orders/table.json", import.meta.url).pathname;

test("the defaults of calls that name no option are those of the configuration", () => {
  const pipeline = pipelineFromSettings({}, []);
  expect(defaultSettings.options).toEqual({ ...mappingOptionsOf(pipeline), subscription: "" });
  expect(defaultSettings.maxRequestBytes).toBe(pipeline.append.maxRequestBytes);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the flags of map", () => {
  test("stand for options of the pipeline, with --set or without", async () => {
    const flags = { table, useTableSchema: true, dropUnknownFields: true, writeMetadata: true };
    const expected = { ...defaultSettings.options, mode: "table", dropUnknownFields: true, writeMetadata: true };
    expect((await readMappingRequest(flags)).options).toEqual(expected);
    const withSets = { ...flags, set: ["bigquery.numericBytes=base64", "append.maxRequestBytes=1MiB"] };
    const request = await readMappingRequest(withSets);
    expect(request.options).toEqual({ ...expected, numericBytes: "base64" });
    expect(request.maxRequestBytes).toBe(1_048_576);
  });

  test("name a subscription in one of two ways", async () => {
    const subscription = "projects/acme/subscriptions/orders";
    for (const flags of [{ subscription }, { set: [`subscription=${subscription}`] }]) {
      expect((await readMappingRequest({ table, ...flags })).options.subscription).toBe(subscription);
    }
    expect((await readMappingRequest({ table })).options.subscription).toBe("");
  });

  test.each([
    [{}, "a table is needed: --table FILE or PROJECT.DATASET.TABLE, or --config FILE"],
    [{ table, pipeline: "orders" }, "--pipeline chooses a pipeline of a configuration: --config is missing"],
    [
      { table: "nowhere.json" },
      "--table: there is no file nowhere.json, and it is no table of the form PROJECT.DATASET.TABLE",
    ],
    [{ table, set: ["numericBytes"] }, "--set expects PATH=VALUE, such as bigquery.numericBytes=base64"],
  ])("%j is refused with a reason", async (flags, reason) => {
    await expect(readMappingRequest(flags)).rejects.toThrow(reason);
  });
});

test("a table that cannot be had is named", async () => {
  vi.stubEnv("BIGQUERY_EMULATOR_HOST", "127.0.0.1:1");
  await expect(readMappingRequest({ table: "acme.sales.gone" })).rejects.toThrow(
    "acme.sales.gone: the table's schema could not be fetched from 127.0.0.1:1",
  );
});
