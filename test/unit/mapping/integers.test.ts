import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";

const int64 = column("INT64");
const max = 2n ** 63n - 1n;
const min = -(2n ** 63n);

function read(json: string): string {
  const wire = outcome(json, int64);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "int64") : wire;
}

describe("INT64", () => {
  test.each([
    ["0", "0"],
    ["-0", "0"],
    ["-0.0e5", "0"],
    ["1.0", "1"],
    ["10e-1", "1"],
    ["1.5e1", "15"],
    ["12300000000000000000000e-5", "123000000000000000"],
    ["0.000000000000000000000001e24", "1"],
    ["999999999999999", "999999999999999"],
    ["9007199254740991", "9007199254740991"],
    ["9007199254740992", "9007199254740992"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["9999999999999999", "9999999999999999"],
    [String(max), String(max)],
    [String(min), String(min)],
    ["9223372036854775807.000", String(max)],
    ["-9.223372036854775808e18", String(min)],
    ["0e999999999999", "0"],
  ])("takes the number %s", (json, value) => expect(read(json)).toBe(value));

  test.each([
    [String(max + 1n), "OUT_OF_RANGE"],
    [String(min - 1n), "OUT_OF_RANGE"],
    ["18446744073709551616", "OUT_OF_RANGE"],
    ["10000000000000000000", "OUT_OF_RANGE"],
    ["1e19", "OUT_OF_RANGE"],
    ["1e999999999999999999", "OUT_OF_RANGE"],
    ["1.5", "TYPE_MISMATCH"],
    ["1e-1", "TYPE_MISMATCH"],
    ["1e-999999999999999999", "TYPE_MISMATCH"],
    ["9223372036854775807.5", "TYPE_MISMATCH"],
    ["1234567890123456789012345678901234567890.5", "TYPE_MISMATCH"],
  ])("refuses the number %s: %s", (json, code) => expect(read(json)).toBe(code));

  test.each([
    ["007", "7"],
    ["-000", "0"],
    [`${"0".repeat(100)}9`, "9"],
    [String(min), String(min)],
  ])("takes the text %j", (text, value) => expect(read(JSON.stringify(text))).toBe(value));

  test.each(["", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1f", "１", "1_000", "--1", "1-"])(
    "refuses the text %j",
    (text) => {
      expect(read(JSON.stringify(text))).toBe("TYPE_MISMATCH");
    },
  );

  test("refuses text beyond int64", () => expect(read(`"${max + 1n}"`)).toBe("OUT_OF_RANGE"));

  test(`keeps every int64, as text and as a number of any spelling, PROPERTY_SEED=${propertySeed}`, () => {
    const spelled = fc.tuple(fc.bigInt({ min: 2n * min, max: 2n * max }), fc.integer({ min: 0, max: 30 }));
    fc.assert(
      fc.property(spelled, ([value, zeros]) => {
        const expected = value >= min && value <= max ? String(value) : "OUT_OF_RANGE";
        expect(read(String(value))).toBe(expected);
        expect(read(`"${value}"`)).toBe(expected);
        expect(read(`${value}${"0".repeat(zeros)}e-${zeros}`)).toBe(expected);
        expect(read(`${value}.${"0".repeat(zeros + 1)}`)).toBe(expected);
      }),
      { seed: propertySeed, numRuns: 500 },
    );
  });
});
