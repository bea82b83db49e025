import { describe, expect, test } from "vitest";
import type { Cell } from "../../../../src/emulator/bigquery/cell.ts";
import { plainRow } from "../../../../src/emulator/bigquery/plain-rows.ts";
import { restRow, selectColumns, timestampFormat } from "../../../../src/emulator/bigquery/rest-rows.ts";
import { columns } from "./writer.ts";

const range = { type: "RANGE", rangeElementType: { type: "DATE" } };

const values: readonly [object, Cell, rest: unknown, plain: unknown][] = [
  [{ type: "BOOL" }, true, "true", true],
  [{ type: "INT64" }, 9007199254740993n, "9007199254740993", "9007199254740993"],
  [{ type: "FLOAT64" }, 1.5, "1.5", 1.5],
  [{ type: "FLOAT64" }, 3, "3.0", 3],
  [{ type: "FLOAT64" }, Number.NaN, "NaN", "NaN"],
  [{ type: "FLOAT64" }, -Infinity, "-Infinity", "-Infinity"],
  [{ type: "NUMERIC" }, -12_500_000_000n, "-12.5", "-12.5"],
  [{ type: "BIGNUMERIC" }, 10n ** 38n, "1", "1"],
  [{ type: "STRING" }, "é", "é", "é"],
  [{ type: "BYTES" }, Buffer.from([255]), "/w==", "/w=="],
  [{ type: "DATE" }, -1, "1969-12-31", "1969-12-31"],
  [{ type: "TIME" }, 3_661_000_000, "01:01:01", "01:01:01.000000"],
  [{ type: "TIME" }, 1, "00:00:00.000001", "00:00:00.000001"],
  [{ type: "DATETIME" }, -1n, "1969-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999"],
  [{ type: "TIMESTAMP" }, 1_408_452_095_220_000n, "1.40845209522E9", "2014-08-19T12:41:35.220000Z"],
  [{ type: "JSON" }, '{"a": 1}', '{"a": 1}', '{"a": 1}'],
  [{ type: "INTERVAL" }, { months: -14, days: 3, micros: 1_500_000n }, "-1-2 3 0:0:1.5", "-1-2 3 0:0:1.5"],
  [range, [0, null], "[1970-01-01, UNBOUNDED)", { start: "1970-01-01", end: null }],
  [{ type: "INT64" }, null, null, null],
  [{ type: "INT64", mode: "REPEATED" }, [1n, 2n], [{ v: "1" }, { v: "2" }], ["1", "2"]],
  [{ type: "RECORD", fields: [{ name: "x", type: "INT64" }] }, [5n], { f: [{ v: "5" }] }, { x: "5" }],
];

test.each(values)("%j", (column, cell, rest, plain) => {
  const table = columns({ name: "c", ...column });
  expect(restRow(table, [cell], "FLOAT64")).toEqual({ f: [{ v: rest }] });
  expect(plainRow(table, [cell])).toEqual({ c: plain });
});

test("columns that a row is older than are NULL or empty, inside a STRUCT too", () => {
  const inner = [
    { name: "x", type: "INT64" },
    { name: "y", type: "STRING", mode: "REPEATED" },
  ];
  const table = columns({ name: "r", type: "RECORD", fields: inner }, { name: "more", type: "STRING" });
  expect(plainRow(table, [[5n]])).toEqual({ r: { x: "5", y: [] }, more: null });
  expect(restRow(table, [[5n]], "INT64")).toEqual({ f: [{ v: { f: [{ v: "5" }, { v: [] }] } }, { v: null }] });
});

describe("TIMESTAMP", () => {
  const table = columns({ name: "a", type: "TIMESTAMP" }, { name: "b", type: "TIMESTAMP", timestampPrecision: "12" });
  const cells = [1n, 1_000_001n];

  test("by the format that is asked for", () => {
    expect(restRow(table, cells, "INT64")).toEqual({ f: [{ v: "1" }, { v: "1" }] });
    expect(restRow(table, cells, "ISO8601_STRING")).toEqual({
      f: [{ v: "1970-01-01T00:00:00.000001Z" }, { v: "1970-01-01T00:00:00.000001000001Z" }],
    });
    expect(timestampFormat("true", undefined)).toBe("INT64");
    expect(timestampFormat(undefined, undefined)).toBe("FLOAT64");
    expect(timestampFormat("true", "ISO8601_STRING")).toBe("ISO8601_STRING");
    expect(() => timestampFormat(undefined, "other")).toThrow("timestampOutputFormat");
  });
});

describe("selected fields", () => {
  const table = columns(
    { name: "a", type: "INT64" },
    {
      name: "r",
      type: "RECORD",
      mode: "REPEATED",
      fields: [
        { name: "x", type: "INT64" },
        { name: "y", type: "INT64" },
      ],
    },
    { name: "b", type: "INT64" },
  );
  const cells: Cell[] = [
    1n,
    [
      [2n, 3n],
      [4n, 5n],
    ],
    6n,
  ];

  test("columns, and fields inside them", () => {
    const { columns, project } = selectColumns(table, "b,R.y");
    expect(plainRow(columns, project(cells))).toEqual({ r: [{ y: "3" }, { y: "5" }], b: "6" });
  });

  test("none means all; an unknown one is refused", () => {
    expect(plainRow(table, selectColumns(table, null).project(cells))).toMatchObject({ a: "1", b: "6" });
    expect(() => selectColumns(table, "nope")).toThrow("No such field: nope");
  });
});
