import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, outcome } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";

const float64 = column("FLOAT64");

/** Eight little-endian bytes of a double in hex. */
function bits(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes.toString("hex");
}

describe("FLOAT64", () => {
  test.each([
    ["0", 0],
    ["-0", -0],
    ["-0.0", -0],
    ["0.1", 0.1],
    ["999999999999999", 999_999_999_999_999],
    ["9007199254740993", 9_007_199_254_740_992],
    ["0.30000000000000004", 0.300_000_000_000_000_04],
    ["123456789.123456", 123_456_789.123_456],
    ["1e22", 1e22],
    ["1e23", 1e23],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["5e-324", Number.MIN_VALUE],
    ["1e-400", 0],
    ["-1e-999999999", -0],
    // Half a unit above the largest double would round to infinity; just below does not.
    ["1.797693134862315807e308", Number.MAX_VALUE],
    ["2.4703282292062327e-324", 0],
    ["2.4703282292062328e-324", Number.MIN_VALUE],
    // A tie between two doubles, and one digit more far behind that breaks it.
    ["9007199254740993.0", 9_007_199_254_740_992],
    [`9007199254740993.${"0".repeat(800)}1`, 9_007_199_254_740_994],
  ])("takes the number %s", (json, value) => expect(outcome(json, float64)).toBe(bits(value)));

  test.each([["1e309"], ["-1e400"], ["1.797693134862315808e308"], ["1e999999999999"]])("refuses %s", (json) => {
    expect(outcome(json, float64)).toBe("OUT_OF_RANGE");
  });

  test.each([
    ["NaN", Number.NaN],
    ["-nan", Number.NaN],
    ["+NAN", Number.NaN],
    ["inf", Number.POSITIVE_INFINITY],
    ["+Inf", Number.POSITIVE_INFINITY],
    ["-INF", Number.NEGATIVE_INFINITY],
    ["infinity", Number.POSITIVE_INFINITY],
    ["-Infinity", Number.NEGATIVE_INFINITY],
    ["5.", 5],
    [".5", 0.5],
    ["+1.5", 1.5],
    ["-.5E+1", -5],
    ["00012", 12],
  ])("takes the text %j", (text, value) => expect(outcome(JSON.stringify(text), float64)).toBe(bits(value)));

  test.each([
    "",
    ".",
    "+",
    "e5",
    "1e",
    "1e+",
    " 1",
    "1 ",
    "1,5",
    "0x10",
    "1.5f",
    "infinit",
    "++1",
    "1..2",
    "NaN ",
    "nano",
    "∞",
  ])("refuses the text %j", (text) => expect(outcome(JSON.stringify(text), float64)).toBe("TYPE_MISMATCH"));

  test("refuses text beyond the largest double", () => expect(outcome('"1e400"', float64)).toBe("OUT_OF_RANGE"));

  test(`is the nearest double, PROPERTY_SEED=${propertySeed}`, () => {
    const spelling = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.tuple(fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }), fc.nat(17)).map(([digits, scale]) => {
        const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
        const whole = text.slice(0, text.length - scale);
        return `${digits < 0n ? "-" : ""}${whole}${scale > 0 ? `.${text.slice(-scale)}` : ""}`;
      }),
    );
    fc.assert(
      fc.property(spelling, (text) => {
        expect(outcome(text, float64)).toBe(bits(Number(text)));
      }),
      { seed: propertySeed, numRuns: 2000 },
    );
  });
});
