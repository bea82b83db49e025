import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadSetup, type Setup } from "../../../src/emulator/setup.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-setup-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function load(yaml: string): Setup {
  const path = join(folder, "setup.yaml");
  writeFileSync(path, yaml);
  return loadSetup(path, {});
}

test("how BigQuery behaves: nothing late and 10 MiB unless the file says otherwise", () => {
  expect(load("topics: []").bigquery).toEqual({
    schemaDelayMs: 0,
    recreationDelayMs: 0,
    maxRequestBytes: 10 * 1024 * 1024,
  });
  expect(load("bigquery: { schemaDelay: 90s, recreationDelay: 2m, maxRequestSize: 20MiB }").bigquery).toEqual({
    schemaDelayMs: 90_000,
    recreationDelayMs: 120_000,
    maxRequestBytes: 20 * 1024 * 1024,
  });
  expect(() => load("bigquery: { schemaDelay: 2h }")).toThrow("1h");
});

test("a key that is not what the map names is told what was expected", () => {
  expect(() => load("tables: { acme.sales: table.json }")).toThrow("tables.acme.sales  expected PROJECT.DATASET.TABLE");
  expect(() => load("payloads: { orders: orders.jsonl }")).toThrow("payloads.orders  expected projects/P/topics/T");
});
