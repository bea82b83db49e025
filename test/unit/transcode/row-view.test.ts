import { describe, expect, test } from "vitest";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";
import { rowJson } from "../../../src/transcode/row-view.ts";

function view(fields: readonly object[], hex: string, missingValues: "null" | "default" = "null"): string {
  const bytes = Buffer.from(`ff${hex}ff`, "hex");
  return rowJson(parseTableSchema(fields), missingValues, bytes, 1, bytes.length - 1);
}

/** The value of the one column `v`, whose field in the row is `hex`. */
const valueOf = (type: string, hex: string, rest = {}): string =>
  view([{ name: "v", type, ...rest }], hex).slice(5, -1);

const double = (value: number): string => {
  const bytes = Buffer.alloc(9, 9);
  bytes.writeDoubleLE(value, 1);
  return bytes.toString("hex");
};

const text = (value: string): string =>
  `0a${Buffer.byteLength(value).toString(16).padStart(2, "0")}${Buffer.from(value).toString("hex")}`;

describe("values, decoded from the bytes of their field", () => {
  test.each([
    ["BOOL", "0801", "true"],
    ["BOOL", "0800", "false"],
    ["INT64", "08ffffffffffffffffff01", '"-1"'],
    ["INT64", "08ffffffffffffffff7f", '"9223372036854775807"'],
    ["FLOAT64", double(1.5), "1.5"],
    ["FLOAT64", double(-0), "-0"],
    ["FLOAT64", double(Number.NaN), '"NaN"'],
    ["FLOAT64", double(-Infinity), '"-Infinity"'],
    ["FLOAT64", double(1e300), "1e+300"],
    ["NUMERIC", "0a04008c8647", '"1.2"'],
    ["NUMERIC", "0a04003665c4", '"-1"'],
    ["NUMERIC", "0a0100", '"0"'],
    ["NUMERIC", "0a0101", '"0.000000001"'],
    ["NUMERIC", "0a10ffffffff3f228a097ac4865aa84c3b4b", '"99999999999999999999999999999.999999999"'],
    ["BIGNUMERIC", "0a0101", '"0.00000000000000000000000000000000000001"'],
    ["STRING", text('é"\n'), '"é\\"\\n"'],
    ["BYTES", "0a03fbff00", '"+/8A"'],
    ["DATE", "088b9a01", '"2024-01-01"'],
    ["TIMESTAMP", "08ffffffffffffffffff01", '"1969-12-31T23:59:59.999999Z"'],
    ["TIMESTAMP", "0880c08481f1ba8303", '"2024-01-01T00:00:00.000000Z"'],
    ["JSON", text('{"a": 1}'), '"{\\"a\\": 1}"'],
    ["GEOGRAPHY", text("POINT(1 2)"), '"POINT(1 2)"'],
    ["INTERVAL", text("1-2 3 4:5:6"), '"1-2 3 4:5:6"'],
  ])("%s %s is %s", (type, hex, expected) => {
    expect(valueOf(type, hex)).toBe(expected);
  });

  const packed = (value: bigint): string => {
    let hex = "08";
    for (let rest = value; ; rest >>= 7n) {
      hex += Number(rest < 128n ? rest : (rest & 127n) | 128n)
        .toString(16)
        .padStart(2, "0");
      if (rest < 128n) return hex;
    }
  };

  test("the first day and the last", () => {
    expect(valueOf("DATE", packed(2n ** 64n - 719_162n))).toBe('"0001-01-01"');
    expect(valueOf("DATE", packed(2_932_896n))).toBe('"9999-12-31"');
  });

  test("civil time, by the anchors of facts/bigquery-write.md §1.2", () => {
    expect(valueOf("TIME", packed(102_806_536_767n))).toBe('"23:59:59.999999"');
    expect(valueOf("TIME", packed(89_332_507_144n))).toBe('"20:51:10.123400"');
    expect(valueOf("DATETIME", packed(142_258_614_586_538_368n))).toBe('"2021-09-27T20:51:10.752000"');
    expect(valueOf("DATETIME", packed(703_674_213_004_689_983n))).toBe('"9999-12-31T23:59:59.999999"');
  });

  test.each([
    ["2024-01-01T00:00:00.123456+00:00", "2024-01-01T00:00:00.123456000000Z"],
    ["2024-01-01 00:00:00.123456789012", "2024-01-01T00:00:00.123456789012Z"],
    ["2024-01-01T00:00:00.1234567890+01:30", "2023-12-31T22:30:00.123456789000Z"],
    ["2024-07-01 12:00:00.0000000001 Europe/Berlin", "2024-07-01T10:00:00.000000000100Z"],
  ])("the TIMESTAMP(12) %s has twelve digits and is in UTC", (value, expected) => {
    expect(valueOf("TIMESTAMP", text(value), { timestampPrecision: "12" })).toBe(`"${expected}"`);
  });
});

describe("rows", () => {
  const fields = [
    { name: "a", type: "INT64" },
    { name: "b", type: "INT64", mode: "REPEATED" },
    {
      name: "c",
      type: "RECORD",
      mode: "REPEATED",
      fields: [
        { name: "x", type: "STRING" },
        { name: "y", type: "DATE" },
      ],
    },
    { name: "d", type: "RANGE", rangeElementType: { type: "DATE" } },
    { name: "7", type: "STRING", defaultValueExpression: "'x'" },
    { name: "__proto__", type: "STRING" },
  ];

  test("have every column, in the order of the table; absent ones are null or empty", () => {
    expect(view(fields, "")).toBe('{"a":null,"b":[],"c":[],"d":null,"7":null,"__proto__":null}');
    expect(view(fields, ["12020102", "1a00", "1a070a0178108b9a01", "2200", "320170"].join(""))).toBe(
      '{"a":null,"b":["1","2"],"c":[{"x":null,"y":null},{"x":"x","y":"2024-01-01"}],"d":{"start":null,"end":null},"7":null,"__proto__":"p"}',
    );
  });

  test("leave out what will take its default", () => {
    expect(view(fields, "0801", "default")).toBe('{"a":"1","b":[],"c":[],"d":null,"__proto__":null}');
  });
});
