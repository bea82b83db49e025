import { Big } from "big.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, convert, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";
import type { ConversionOptions } from "../../../src/mapping/conversion-options.ts";
import type { Column } from "../../../src/schema/table-schema.ts";

const numeric = column("NUMERIC");
const bignumeric = column("BIGNUMERIC");

/** The decimal that travels, read by BigInt; a refusal's code as it is. */
function read(json: string, into: Column, options: Partial<ConversionOptions> = {}): string {
  const wire = outcome(json, into, options);
  if (!/^[0-9a-f]+$/.test(wire)) return wire;
  const hex = readBack(wire, "bytes");
  const bytes = Buffer.from(hex, "hex");
  const value = BigInt.asIntN(8 * bytes.length, BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`));
  // No more bytes than the value takes.
  expect(bytes.length === 1 || BigInt.asIntN(8 * (bytes.length - 1), value) !== value).toBe(true);
  const scale = into.type === "NUMERIC" ? 9 : 38;
  return new Big(value.toString()).times(`1e-${scale}`).toFixed();
}

const text = JSON.stringify;

describe("NUMERIC and BIGNUMERIC", () => {
  test.each([
    ["0.5", numeric, "0.5"],
    ["-0", numeric, "0"],
    ["0.0000000005", numeric, "0.000000001"],
    ["-0.0000000005", numeric, "-0.000000001"],
    ["0.00000000049999999999999999999999999999999999", numeric, "0"],
    ["1.0000000014999", numeric, "1.000000001"],
    ["1.0000000015", numeric, "1.000000002"],
    ["-1.0000000025", numeric, "-1.000000003"],
    ["9.9999999995", numeric, "10"],
    ["99999999999999999999999999999.9999999994", numeric, "99999999999999999999999999999.999999999"],
    ["99999999999999999999999999999.9999999995", numeric, "OUT_OF_RANGE"],
    ["100000000000000000000000000000", numeric, "OUT_OF_RANGE"],
    ["1e-999999999999", numeric, "0"],
    ["1e999999999999", numeric, "OUT_OF_RANGE"],
    ["-5e-39", bignumeric, "-0.00000000000000000000000000000000000001"],
    ["4.9999e-39", bignumeric, "0"],
  ])("the number %s is rounded half away from zero", (json, into, value) => expect(read(json, into)).toBe(value));

  test.each([
    ["1.000000001", numeric, "1.000000001"],
    ["1.00000000100000", numeric, "1.000000001"],
    ["1.0000000011", numeric, "PRECISION_LOSS"],
    ["1e-10", numeric, "PRECISION_LOSS"],
    ["100e-11", numeric, "0.000000001"],
    ["1e30", numeric, "OUT_OF_RANGE"],
    ["1e999999999999", numeric, "OUT_OF_RANGE"],
    ["1e-999999999999", numeric, "PRECISION_LOSS"],
    // The digits are judged before the range, whatever the range would say.
    ["1234567890123456789012345678901.00000000001", numeric, "PRECISION_LOSS"],
    ["abc", numeric, "TYPE_MISMATCH"],
    ["1e", numeric, "TYPE_MISMATCH"],
    ["-", numeric, "TYPE_MISMATCH"],
    [".", bignumeric, "TYPE_MISMATCH"],
    ["NaN", bignumeric, "TYPE_MISMATCH"],
  ])("the text %s is exact", (value, into, expected) => expect(read(text(value), into)).toBe(expected));

  test.each([
    ["1.0000000011", numeric, "1.000000001"],
    ["-1.0000000015", numeric, "-1.000000002"],
    ["1e-10", numeric, "0"],
    ["99999999999999999999999999999.9999999995", numeric, "OUT_OF_RANGE"],
  ])("with onPrecisionLoss: round, the text %s is rounded", (value, into, expected) => {
    expect(read(text(value), into, { onPrecisionLoss: "round" })).toBe(expected);
  });

  const max = "578960446186580977117854925043439539266.34992332820282019728792003956564819967";
  const min = "-578960446186580977117854925043439539266.34992332820282019728792003956564819968";

  test.each([
    [max, max],
    [min, min],
    [`-${max}`, `-${max}`],
    [min.slice(1), "OUT_OF_RANGE"],
    ["-578960446186580977117854925043439539266.34992332820282019728792003956564819969", "OUT_OF_RANGE"],
    ["999999999999999999999999999999999999999.99999999999999999999999999999999999999", "OUT_OF_RANGE"],
  ])("BIGNUMERIC keeps int256: %s", (value, expected) => expect(read(text(value), bignumeric)).toBe(expected));

  const price = column("NUMERIC", { precision: 5, scale: 2 });
  const wide = column("BIGNUMERIC", { precision: 40, scale: 2 });

  test.each([
    ["999.99", price, "999.99"],
    ["999.994", price, "999.99"],
    ["999.995", price, "OUT_OF_RANGE"],
    ["-1.125", price, "-1.13"],
    ["1000", price, "OUT_OF_RANGE"],
    ["99999999999999999999999999999999999999.99", wide, "99999999999999999999999999999999999999.99"],
    ["100000000000000000000000000000000000000", wide, "OUT_OF_RANGE"],
  ])("precision and scale of the column: %s", (json, into, value) => expect(read(json, into)).toBe(value));

  test("tell how many digits there were, and never the value", () => {
    const converted = convert("1234567890123456789012345678901", numeric);
    expect(converted).toEqual({
      fault: {
        code: "OUT_OF_RANGE",
        message: "NUMERIC holds at most 29 integer digits; got a number of 31 integer digits",
      },
    });
    expect(convert("12345", price)).toMatchObject({
      fault: { message: "NUMERIC(5, 2) holds at most 3 integer digits; got a number of 5 integer digits" },
    });
  });

  test.each([
    ["AIyGRw==", numeric, "1.2"],
    ["AIyGRw", numeric, "1.2"],
    ["-_8", numeric, "-0.000000005"],
    // The number 4 is also base64; it is a number first.
    ["1234", numeric, "1234"],
    // Sixteen bytes of 0xff and one of zero: 2^128 − 1 is more than 10^38 − 1.
    ["/////////////////////wA=", numeric, "OUT_OF_RANGE"],
    // A sign that is spelled out at length changes nothing.
    [Buffer.from("008c8647".padEnd(80, "00"), "hex").toString("base64"), numeric, "1.2"],
    ["AIyGRw==", bignumeric, `0.${"0".repeat(28)}12`],
    ["AIyGRw==", column("NUMERIC", { precision: 3, scale: 0 }), "PRECISION_LOSS"],
    ["%%%%", numeric, "TYPE_MISMATCH"],
    ["", numeric, "TYPE_MISMATCH"],
    ["AAA", numeric, "0"],
  ])("numericBytes: base64 reads %s", (value, into, expected) => {
    expect(read(text(value), into, { numericBytes: "base64" })).toBe(expected);
  });

  test.each([
    ["\u0000\u008c\u0086G", numeric, "1.2"],
    ["ÿ", numeric, "-0.000000001"],
    ["Ā", numeric, "TYPE_MISMATCH"],
    ["", numeric, "TYPE_MISMATCH"],
  ])("numericBytes: latin1 reads %j", (value, into, expected) => {
    expect(read(text(value), into, { numericBytes: "latin1" })).toBe(expected);
  });

  test("encoded bytes may be rounded to the column's scale as well", () => {
    const options = { numericBytes: "base64", onPrecisionLoss: "round" } as const;
    expect(read(text("AC9oWQ=="), column("NUMERIC", { precision: 3, scale: 0 }), options)).toBe("2");
  });

  test(`agree with big.js, PROPERTY_SEED=${propertySeed}`, () => {
    const digits = fc.stringMatching(/^[0-9]{1,50}$/);
    const columns = fc.constantFrom(
      { into: numeric, scale: 9, limit: new Big("1e29") },
      { into: bignumeric, scale: 38, limit: new Big(max).plus("1e-38") },
      { into: price, scale: 2, limit: new Big("1e3") },
      { into: wide, scale: 2, limit: new Big("1e38") },
    );
    const spelled = fc.tuple(fc.boolean(), digits, fc.option(digits), fc.option(fc.integer({ min: -60, max: 60 })));
    fc.assert(
      fc.property(spelled, columns, ([negative, whole, fraction, exponent], { into, scale, limit }) => {
        const spelling = `${whole}${fraction === null ? "" : `.${fraction}`}${exponent === null ? "" : `e${exponent}`}`;
        const value = new Big(spelling);
        const rounded = value.round(scale, 1);
        const sign = negative ? "-" : "";
        const held = rounded.lt(limit) || (negative && into === bignumeric && rounded.eq(limit));
        const expected = held ? `${rounded.eq(0) ? "" : sign}${rounded.toFixed()}` : "OUT_OF_RANGE";
        const number = `${sign}${spelling.replace(/^0+(?=\d)/, "")}`;
        expect(read(number, into)).toBe(expected);
        expect(read(text(sign + spelling), into)).toBe(rounded.eq(value) ? expected : "PRECISION_LOSS");
      }),
      { seed: propertySeed, numRuns: 3000 },
    );
  });
});
