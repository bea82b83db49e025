import { describe, expect, test } from "vitest";
import { type Cell, InvalidValue } from "../../../../src/emulator/bigquery/cell.ts";
import type { ColumnType } from "../../../../src/emulator/bigquery/column.ts";
import { parseDefault } from "../../../../src/emulator/bigquery/default-value.ts";

/** 2024-01-02T03:04:05.000006Z. */
const context = { atMicros: 1_704_164_645_000_006n, seed: "seed" };

function value(expression: string, type: ColumnType, more: object = {}, isRepeated = false, row = 0): Cell {
  return parseDefault(expression, { name: "c", type, ...more }, isRepeated).evaluate(context, row);
}

test.each<[string, ColumnType, Cell]>([
  ["TRUE", "BOOL", true],
  ["false", "BOOL", false],
  ["-5", "INT64", -5n],
  ["9223372036854775807", "INT64", 2n ** 63n - 1n],
  ["1.5e3", "FLOAT64", 1500],
  ["1.25", "NUMERIC", 1_250_000_000n],
  ["NUMERIC '0.000000001'", "NUMERIC", 1n],
  ["'it\\'s \\u00e9\\n'", "STRING", "it's é\n"],
  ['"text"', "STRING", "text"],
  ["r'\\n'", "STRING", "\\n"],
  ["b'\\x01a'", "BYTES", Buffer.from([1, 97])],
  ["DATE '1970-01-02'", "DATE", 1],
  ["'1970-01-02'", "DATE", 1],
  ["TIME '00:00:01'", "TIME", 1_000_000],
  ["DATETIME '1970-01-01 00:00:01'", "DATETIME", 1_000_000n],
  ["TIMESTAMP '1970-01-01 00:00:01+00'", "TIMESTAMP", 1_000_000n],
  ["JSON '{\"a\":1}'", "JSON", '{"a":1}'],
  ["NULL", "STRING", null],
  ["CURRENT_TIMESTAMP()", "TIMESTAMP", 1_704_164_645_000_006n],
  ["current_timestamp", "TIMESTAMP", 1_704_164_645_000_006n],
  ["CURRENT_DATETIME()", "DATETIME", 1_704_164_645_000_006n],
  ["CURRENT_DATE", "DATE", 19_724],
  ["CURRENT_TIME()", "TIME", 11_045_000_006],
])("%s of %s", (expression, type, cell) => {
  expect(value(expression, type)).toEqual(cell);
});

describe("what is per row", () => {
  test("GENERATE_UUID differs by row, column and request, and stays the same when a row is read again", () => {
    const uuid = value("GENERATE_UUID()", "STRING");
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(value("GENERATE_UUID()", "STRING")).toBe(uuid);
    expect(value("GENERATE_UUID()", "STRING", {}, false, 1)).not.toBe(uuid);
    expect(value("GENERATE_UUID()", "STRING", { name: "other" })).not.toBe(uuid);
  });

  test("RAND is at least 0 and below 1", () => {
    const values = Array.from({ length: 100 }, (_, row) => value("RAND()", "FLOAT64", {}, false, row) as number);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...values)).toBeLessThan(1);
    expect(new Set(values).size).toBe(100);
  });
});

test("an array of literals, with commas inside texts", () => {
  expect(value("['a,b', \"c\"]", "STRING", {}, true)).toEqual(["a,b", "c"]);
  expect(value("[1, 2]", "INT64", {}, true)).toEqual([1n, 2n]);
  expect(value("[]", "INT64", {}, true)).toEqual([]);
});

test.each<[string, ColumnType, object?, boolean?]>([
  ["1.5", "INT64"],
  ["9223372036854775808", "INT64"],
  ["'abc'", "INT64"],
  ["1", "STRING"],
  ["DATE '2024-01-01'", "TIMESTAMP"],
  ["'2024-02-30'", "DATE"],
  ["CURRENT_DATE()", "TIMESTAMP"],
  ["ST_GEOGPOINT(1, 2)", "GEOGRAPHY"],
  ["1 + 1", "INT64"],
  ["'it''s'", "STRING"],
  ["'abc'", "STRING", { maxLength: 2 }],
  ["'a'", "STRING", {}, true],
  ["NULL", "INT64", {}, true],
  ["STRUCT(1)", "STRUCT"],
])("%s does not suit %s", (expression, type, more, isRepeated) => {
  expect(() => value(expression, type, more, isRepeated)).toThrow(InvalidValue);
});
