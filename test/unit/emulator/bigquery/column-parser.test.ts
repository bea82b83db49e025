import { describe, expect, test } from "vitest";
import { ApiError } from "../../../../src/emulator/bigquery/api-error.ts";
import { fieldJson, storageSchema } from "../../../../src/emulator/bigquery/column-json.ts";
import { parseColumns } from "../../../../src/emulator/bigquery/column-parser.ts";

function refusal(...fields: readonly unknown[]): string {
  try {
    parseColumns(fields);
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error.message;
    throw error;
  }
  throw new Error("Nothing was refused");
}

describe("a schema that is right", () => {
  const fields = [
    { name: "id", type: "int64", mode: "required", description: "Key" },
    { name: "price", type: "NUMERIC", precision: "10", scale: 2 },
    { name: "part", type: "STRUCT", mode: "REPEATED", fields: [{ name: "ok", type: "BOOL" }] },
    { name: "period", type: "RANGE", rangeElementType: { type: "DATE" } },
    { name: "fine", type: "TIMESTAMP", timestampPrecision: 12 },
    { name: "made", type: "TIMESTAMP", defaultValueExpression: "CURRENT_TIMESTAMP()" },
  ];
  const columns = parseColumns(fields);

  test("is given back by REST with the older type names and text for integers", () => {
    expect(columns.map(fieldJson)).toEqual([
      { name: "id", type: "INTEGER", mode: "REQUIRED", description: "Key" },
      { name: "price", type: "NUMERIC", mode: "NULLABLE", precision: "10", scale: "2" },
      {
        name: "part",
        type: "RECORD",
        mode: "REPEATED",
        fields: [{ name: "ok", type: "BOOLEAN", mode: "NULLABLE" }],
      },
      { name: "period", type: "RANGE", mode: "NULLABLE", rangeElementType: { type: "DATE" } },
      { name: "fine", type: "TIMESTAMP", mode: "NULLABLE", timestampPrecision: "12" },
      { name: "made", type: "TIMESTAMP", mode: "NULLABLE", defaultValueExpression: "CURRENT_TIMESTAMP()" },
    ]);
  });

  test("is given back by the Storage Write API in its own form", () => {
    expect(storageSchema(columns)).toEqual({
      fields: [
        { name: "id", type: "INT64", mode: "REQUIRED", fields: [], description: "Key" },
        { name: "price", type: "NUMERIC", mode: "NULLABLE", fields: [], precision: 10, scale: 2 },
        {
          name: "part",
          type: "STRUCT",
          mode: "REPEATED",
          fields: [{ name: "ok", type: "BOOL", mode: "NULLABLE", fields: [] }],
        },
        { name: "period", type: "RANGE", mode: "NULLABLE", fields: [], rangeElementType: { type: "DATE" } },
        { name: "fine", type: "TIMESTAMP", mode: "NULLABLE", fields: [], timestampPrecision: { value: 12 } },
        {
          name: "made",
          type: "TIMESTAMP",
          mode: "NULLABLE",
          fields: [],
          defaultValueExpression: "CURRENT_TIMESTAMP()",
        },
      ],
    });
  });

  test("REST's own form is read back to the same columns", () => {
    expect(parseColumns(columns.map(fieldJson)).map(fieldJson)).toEqual(columns.map(fieldJson));
  });

  test("flexible names are taken", () => {
    expect(parseColumns([{ name: "str-列 & %", type: "STRING" }])[0]?.name).toBe("str-列 & %");
  });
});

describe("refusals", () => {
  test.each([
    ["an unknown type", { name: "a", type: "TEXT" }, "TEXT is not a valid value"],
    ["an unknown mode", { name: "a", type: "STRING", mode: "MAYBE" }, "MAYBE is not a valid value"],
    ["no name", { type: "STRING" }, "name"],
    ["a bad name", { name: "a.b", type: "STRING" }, 'Invalid field name "a.b"'],
    ["a long name", { name: "a".repeat(301), type: "STRING" }, "Invalid field name"],
    ["a reserved name", { name: "_PARTITIONTIME", type: "STRING" }, "reserved"],
    ["a change column", { name: "_change_type", type: "STRING" }, "reserved"],
    ["a RECORD without fields", { name: "a", type: "RECORD" }, "has no schema"],
    ["a scalar with fields", { name: "a", type: "STRING", fields: [{ name: "b", type: "STRING" }] }, "has a schema"],
    ["maxLength of a number", { name: "a", type: "INT64", maxLength: "5" }, "no maxLength"],
    ["maxLength 0", { name: "a", type: "STRING", maxLength: "0" }, "positive"],
    ["scale alone", { name: "a", type: "NUMERIC", scale: "2" }, "scale without precision"],
    ["precision of a text", { name: "a", type: "STRING", precision: "2" }, "no precision"],
    ["NUMERIC(39,9)", { name: "a", type: "NUMERIC", precision: "39", scale: "9" }, "9 to 38"],
    ["NUMERIC(30)", { name: "a", type: "NUMERIC", precision: "30" }, "1 to 29"],
    ["NUMERIC(5,10)", { name: "a", type: "NUMERIC", precision: "5", scale: "10" }, "at most 9"],
    ["BIGNUMERIC(77,38)", { name: "a", type: "BIGNUMERIC", precision: "77", scale: "38" }, "38 to 76"],
    ["RANGE of nothing", { name: "a", type: "RANGE" }, "rangeElementType"],
    ["RANGE of TIME", { name: "a", type: "RANGE", rangeElementType: { type: "TIME" } }, "rangeElementType"],
    ["TIMESTAMP(9)", { name: "a", type: "TIMESTAMP", timestampPrecision: "9" }, "6 or 12"],
    ["a default that does not suit", { name: "a", type: "INT64", defaultValueExpression: "'x'" }, "Field a: Default"],
    [
      "a default inside a RECORD",
      { name: "a", type: "RECORD", fields: [{ name: "b", type: "INT64", defaultValueExpression: "1" }] },
      "only columns of the table",
    ],
  ])("%s", (_, field, words) => {
    expect(refusal(field)).toContain(words);
  });

  test("two names that differ by case alone", () => {
    expect(refusal({ name: "a", type: "STRING" }, { name: "A", type: "STRING" })).toContain("Duplicate column name");
  });

  test("more than fifteen levels", () => {
    const nest = (levels: number): object =>
      levels === 1 ? { name: "x", type: "STRING" } : { name: "x", type: "RECORD", fields: [nest(levels - 1)] };
    expect(parseColumns([nest(15)])).toHaveLength(1);
    expect(refusal(nest(16))).toContain("more than 15 levels");
  });

  test("more than 10,000 columns", () => {
    const many = Array.from({ length: 10_001 }, (_, i) => ({ name: `c${i}`, type: "STRING" }));
    expect(refusal(...many)).toContain("more than 10000 columns");
  });
});
