import { describe, expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import { columnTypes, parseTableSchema } from "../../../src/schema/table-schema.ts";
import type { Column } from "../../../src/schema/table-schema.ts";

const plain = { mode: "NULLABLE", fields: [], hasDefault: false } as const;

function only(field: object): Column {
  const { columns } = parseTableSchema([field]);
  expect(columns).toHaveLength(1);
  return columns[0]!;
}

/** The lines of the error, without its first. */
function faultsOf(json: unknown): readonly string[] {
  try {
    parseTableSchema(json);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return error.message
      .split("\n")
      .slice(1)
      .map((line) => line.slice(2));
  }
  return [];
}

describe("forms", () => {
  const fields = [
    { name: "id", type: "INTEGER", mode: "REQUIRED" },
    { name: "at", type: "TIMESTAMP" },
  ];
  const columns = [
    { ...plain, name: "id", type: "INT64", mode: "REQUIRED" },
    { ...plain, name: "at", type: "TIMESTAMP" },
  ];

  test("the fields array of bq show --schema", () => {
    expect(parseTableSchema(fields)).toEqual({ columns, primaryKey: [] });
  });

  test("a table resource, with its primary key as the columns are spelled", () => {
    const resource = { schema: { fields }, tableConstraints: { primaryKey: { columns: ["ID"] } } };
    expect(parseTableSchema(resource)).toEqual({ columns, primaryKey: ["id"] });
  });

  test.each([[null], ["text"], [{}], [{ schema: {} }], [{ fields }]])("nothing else: %j", (json) => {
    expect(faultsOf(json)).toEqual(["expected an array of fields, or a table resource with schema.fields"]);
  });
});

describe("types and modes", () => {
  test.each(columnTypes.filter((type) => type !== "STRUCT" && type !== "RANGE"))("%s by its own name", (type) => {
    expect(only({ name: "c", type })).toEqual({ ...plain, name: "c", type });
  });

  test.each([
    ["INTEGER", "INT64"],
    ["INT", "INT64"],
    ["SMALLINT", "INT64"],
    ["BIGINT", "INT64"],
    ["TINYINT", "INT64"],
    ["BYTEINT", "INT64"],
    ["FLOAT", "FLOAT64"],
    ["BOOLEAN", "BOOL"],
    ["DECIMAL", "NUMERIC"],
    ["BIGDECIMAL", "BIGNUMERIC"],
    ["float64", "FLOAT64"],
  ])("%s is %s", (alias, type) => expect(only({ name: "c", type: alias }).type).toBe(type));

  test("modes in any case, NULLABLE when there is none", () => {
    expect(
      ["required", "Repeated", "NULLABLE", undefined, ""].map((mode) => only({ name: "c", type: "DATE", mode }).mode),
    ).toEqual(["REQUIRED", "REPEATED", "NULLABLE", "NULLABLE", "NULLABLE"]);
  });

  test("structs", () => {
    const inner = { ...plain, name: "x", type: "BYTES", maxLength: 4 };
    const struct = {
      name: "s",
      type: "RECORD",
      mode: "REPEATED",
      fields: [{ name: "x", type: "BYTES", maxLength: "4" }],
    };
    expect(only(struct)).toEqual({ ...plain, name: "s", type: "STRUCT", mode: "REPEATED", fields: [inner] });
  });

  test("ranges", () => {
    const range = { name: "r", type: "RANGE", rangeElementType: { type: "DATETIME" } };
    expect(only(range)).toEqual({ ...plain, name: "r", type: "RANGE", rangeElementType: "DATETIME" });
  });

  test("a default value expression", () => {
    expect(only({ name: "c", type: "DATE", defaultValueExpression: "CURRENT_DATE()" }).hasDefault).toBe(true);
    expect(only({ name: "c", type: "DATE", defaultValueExpression: "" }).hasDefault).toBe(false);
  });
});

describe("parameters, as text and as numbers", () => {
  test.each([
    [{ type: "STRING", maxLength: "10" }, { maxLength: 10 }],
    [{ type: "BYTES", maxLength: 10 }, { maxLength: 10 }],
    [
      { type: "NUMERIC", precision: "10", scale: "2" },
      { precision: 10, scale: 2 },
    ],
    [
      { type: "NUMERIC", precision: 29 },
      { precision: 29, scale: 0 },
    ],
    [
      { type: "NUMERIC", precision: "38", scale: 9 },
      { precision: 38, scale: 9 },
    ],
    [
      { type: "BIGNUMERIC", precision: "76", scale: "38" },
      { precision: 76, scale: 38 },
    ],
    [
      { type: "BIGNUMERIC", precision: "38", scale: "38" },
      { precision: 38, scale: 38 },
    ],
    [{ type: "TIMESTAMP", timestampPrecision: "12" }, { timestampPrecision: 12 }],
    [{ type: "TIMESTAMP", timestampPrecision: 6 }, { timestampPrecision: 6 }],
  ])("%j", (field, expected) => {
    expect(only({ name: "c", ...field })).toEqual({ ...plain, name: "c", type: field.type, ...expected });
  });

  test.each([
    [{ type: "STRING", maxLength: 0 }, "c: maxLength must be at least 1"],
    [{ type: "STRING", maxLength: "-1" }, "c: maxLength must be a whole number, not negative"],
    [{ type: "STRING", maxLength: 1.5 }, "c: maxLength must be a whole number, not negative"],
    [{ type: "DATE", maxLength: "3" }, "c: maxLength belongs to STRING and BYTES, not to DATE"],
    [{ type: "INT64", precision: "3" }, "c: precision and scale belong to NUMERIC and BIGNUMERIC, not to INT64"],
    [{ type: "NUMERIC", scale: "2" }, "c: a scale needs a precision"],
    [{ type: "NUMERIC", precision: 30 }, "c: the precision of NUMERIC with scale 0 is at most 29"],
    [{ type: "NUMERIC", precision: 39, scale: 9 }, "c: the precision of NUMERIC with scale 9 is at most 38"],
    [{ type: "NUMERIC", precision: 20, scale: 10 }, "c: the scale of NUMERIC is at most 9"],
    [{ type: "NUMERIC", precision: 1, scale: 2 }, "c: the precision must be at least 2"],
    [{ type: "NUMERIC", precision: 0 }, "c: the precision must be at least 1"],
    [{ type: "BIGNUMERIC", precision: 39 }, "c: the precision of BIGNUMERIC with scale 0 is at most 38"],
    [{ type: "BIGNUMERIC", precision: 76, scale: 39 }, "c: the scale of BIGNUMERIC is at most 38"],
    [{ type: "TIMESTAMP", timestampPrecision: 9 }, "c: timestampPrecision must be 6 or 12"],
    [{ type: "DATE", timestampPrecision: 6 }, "c: timestampPrecision belongs to TIMESTAMP, not to DATE"],
    [{ type: "RANGE" }, "c: a RANGE needs a rangeElementType.type of DATE, DATETIME, TIMESTAMP"],
    [
      { type: "RANGE", rangeElementType: { type: "TIME" } },
      "c: a RANGE needs a rangeElementType.type of DATE, DATETIME, TIMESTAMP",
    ],
    [{ type: "DATE", rangeElementType: { type: "DATE" } }, "c: rangeElementType belongs to RANGE, not to DATE"],
    [{ type: "STRUCT" }, "c: a STRUCT needs fields"],
    [{ type: "DATE", fields: [{ name: "x", type: "DATE" }] }, "c: only a STRUCT has fields, not DATE"],
    [{ type: "UUID" }, "c: the type is none that BigQuery has"],
    [{}, "c: the type is none that BigQuery has"],
    [{ type: "DATE", mode: "OPTIONAL" }, "c: the mode must be NULLABLE, REQUIRED, REPEATED"],
  ])("refuses %j", (field, fault) => expect(faultsOf([{ name: "c", ...field }])).toEqual([fault]));
});

describe("names", () => {
  test.each(["a", "_x1", "str-列", "größe in m²", "a b", "50% & more", "x=y+z:'<>#|", "1st", "n".repeat(300)])(
    "allows %j",
    (name) => expect(faultsOf([{ name, type: "DATE" }])).toEqual([]),
  );

  test.each('!"$()*,./;?@[\\]^`{}~\u0000'.split(""))("refuses the character %j", (character) => {
    const [fault] = faultsOf([{ name: `a${character}b`, type: "DATE" }]);
    expect(fault).toMatch(/has a character that BigQuery does not allow in column names$/);
  });

  test.each([
    ["n".repeat(301), /more than 300 characters/],
    ["_TABLE_SUFFIX", /begin with _TABLE_/],
    ["_partitiontime", /begin with _PARTITION/],
    ["_file_name", /begin with _FILE_/],
    ["__ROOT__x", /begin with __ROOT__/],
    ["_row_timestamp", /begin with _ROW_TIMESTAMP/],
    ["_colidentifier1", /begin with _COLIDENTIFIER/],
    ["_change_type", /reserved for change data capture/],
  ])("refuses %s", (name, fault) => expect(faultsOf([{ name, type: "DATE" }])[0]).toMatch(fault));

  test("that differ only by case, on one level", () => {
    expect(
      faultsOf([
        { name: "Ähre", type: "DATE" },
        { name: "s", type: "STRUCT", fields: [{ name: "ähre", type: "DATE" }] },
        { name: "äHRE", type: "DATE" },
      ]),
    ).toEqual(["äHRE: another column has this name; case does not count"]);
  });
});

describe("the whole table", () => {
  function nested(levels: number): object {
    return levels === 1 ? { name: "c", type: "DATE" } : { name: "c", type: "STRUCT", fields: [nested(levels - 1)] };
  }

  test("takes 15 levels of STRUCT around a column, not 16", () => {
    expect(faultsOf([nested(16)])).toEqual([]);
    expect(faultsOf([nested(17)])).toEqual([`${"c.".repeat(15)}c: STRUCT columns are nested deeper than 15 levels`]);
  });

  test("has defaults for its own columns, not for those inside a STRUCT", () => {
    const column = { name: "c", type: "DATE", defaultValueExpression: "CURRENT_DATE()" };
    const [outer] = parseTableSchema([{ ...column, type: "STRUCT", fields: [column] }]).columns;
    expect([outer?.hasDefault, outer?.fields[0]?.hasDefault]).toEqual([true, false]);
  });

  test("takes 10,000 columns, nested ones counted, not one more", () => {
    const fields = Array.from({ length: 9998 }, (_, i) => ({ name: `c${i}`, type: "DATE" }));
    const table = [
      { name: "a", type: "DATE" },
      { name: "s", type: "STRUCT", fields },
    ];
    expect(faultsOf(table)).toEqual([]);
    expect(faultsOf([...table, { name: "b", type: "DATE" }])).toEqual([
      "10001 columns, nested ones counted, are more than 10000",
    ]);
  });

  test("needs a column", () => expect(faultsOf([])).toEqual(["the table has no columns"]));

  test("reports every fault at once, each with its path", () => {
    const schema = {
      fields: [
        { name: "price", type: "NUMERIC", precision: "50" },
        { name: "items", type: "RECORD", mode: "MANY", fields: [{ type: "DATE" }, { name: "sku", type: "TEXT" }] },
        "no object",
      ],
    };
    expect(faultsOf({ schema, tableConstraints: { primaryKey: { columns: ["id"] } } })).toEqual([
      "price: the precision of NUMERIC with scale 0 is at most 29",
      "items: the mode must be NULLABLE, REQUIRED, REPEATED",
      "items[0]: expected an object with a name",
      "items.sku: the type is none that BigQuery has",
      "[2]: expected an object with a name",
      "[2]: the type is none that BigQuery has",
      "the primary key names a column that the table does not have",
    ]);
  });
});
