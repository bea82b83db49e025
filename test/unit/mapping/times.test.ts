import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, convert, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";
import type { ConversionOptions } from "../../../src/mapping/conversion-options.ts";
import type { Column } from "../../../src/schema/table-schema.ts";

const date = column("DATE");
const time = column("TIME");
const datetime = column("DATETIME");

function read(json: string, into: Column, options: Partial<ConversionOptions> = {}): string {
  const wire = outcome(json, into, options);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "int64") : wire;
}

/** The packed form, bit field by bit field. */
function packed(hour: number, minute: number, second: number, micro: number, year = 0, month = 0, day = 0): string {
  const bits = (value: number, width: number): string => value.toString(2).padStart(width, "0");
  const dateBits = bits(year, 14) + bits(month, 4) + bits(day, 5);
  return BigInt(`0b${dateBits}${bits(hour, 5)}${bits(minute, 6)}${bits(second, 6)}${bits(micro, 20)}`).toString();
}

describe("DATE", () => {
  test.each([
    ["1970-01-01", "0"],
    ["0001-01-01", "-719162"],
    ["9999-12-31", "2932896"],
    ["2000-02-29", "11016"],
    ["2024-2-9", "19762"],
    ["2024-02-9", "19762"],
  ])("takes the text %s", (text, days) => expect(read(JSON.stringify(text), date)).toBe(days));

  test.each([
    "",
    "2024",
    "2024-02",
    "2024-02-",
    "2024--2-9",
    "2024-002-09",
    "2024-02-009",
    "24-02-09",
    "02024-02-09",
    "0000-12-31",
    "2023-02-29",
    "2100-02-29",
    "2024-02-30",
    "2024-06-31",
    "2024-13-01",
    "2024-00-01",
    "2024-01-00",
    "2024/02/09",
    "2024-02-09T00:00:00",
    "+2024-02-09",
    "２０２４-02-09",
  ])("refuses the text %j", (text) => expect(read(JSON.stringify(text), date)).toBe("TYPE_MISMATCH"));

  test.each([
    ["0", "0"],
    ["-0.0", "0"],
    ["1e3", "1000"],
    ["2932896.0", "2932896"],
    ["2932897", "OUT_OF_RANGE"],
    ["-719163", "OUT_OF_RANGE"],
    ["1e999999999", "OUT_OF_RANGE"],
    ["12345678901234567890", "OUT_OF_RANGE"],
    ["0.5", "TYPE_MISMATCH"],
  ])("the number %s gives %s", (json, expected) => expect(read(json, date)).toBe(expected));

  test(`counts days as Date does, PROPERTY_SEED=${propertySeed}`, () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_162, max: 2_932_896 }), (days) => {
        const text = new Date(days * 86_400_000).toISOString().slice(0, 10);
        expect(read(`"${text}"`, date)).toBe(String(days));
      }),
      { seed: propertySeed, numRuns: 2000 },
    );
  });
});

describe("TIME", () => {
  test.each([
    ["00:00:00", packed(0, 0, 0, 0)],
    ["23:59:59.999999", packed(23, 59, 59, 999_999)],
    ["1:2:3", packed(1, 2, 3, 0)],
    ["01:02:03.4", packed(1, 2, 3, 400_000)],
    ["01:02:03.000001000", packed(1, 2, 3, 1)],
  ])("takes the text %s", (text, value) => expect(read(JSON.stringify(text), time)).toBe(value));

  test.each([
    "24:00:00",
    "12:60:00",
    "12:00:60",
    "12:00",
    "12",
    "12:00:00.",
    "12:00:00.x",
    "12:00:00 ",
    "012:00:00",
    "1::3",
  ])("refuses the text %j", (text) => expect(read(JSON.stringify(text), time)).toBe("TYPE_MISMATCH"));

  test("more than six fraction digits are a loss, or are cut off", () => {
    expect(read('"12:00:00.1234567"', time)).toBe("PRECISION_LOSS");
    expect(read('"23:59:59.9999999"', time, { onPrecisionLoss: "round" })).toBe(packed(23, 59, 59, 999_999));
  });

  test.each([
    [packed(23, 59, 59, 999_999), packed(23, 59, 59, 999_999)],
    [packed(0, 60, 0, 0), "OUT_OF_RANGE"],
    [packed(24, 0, 0, 0), "OUT_OF_RANGE"],
    [packed(0, 0, 0, 1_000_000), "OUT_OF_RANGE"],
    ["137438953472", "OUT_OF_RANGE"],
    ["-1", "OUT_OF_RANGE"],
    ["-0", "0"],
    ["1e400", "OUT_OF_RANGE"],
    ["0.5", "TYPE_MISMATCH"],
  ])("the number %s gives %s", (json, expected) => expect(read(json, time)).toBe(expected));
});

describe("DATETIME", () => {
  test.each([
    ["2024-02-29", packed(0, 0, 0, 0, 2024, 2, 29)],
    ["2024-02-29T23:59:59.5", packed(23, 59, 59, 500_000, 2024, 2, 29)],
    ["2024-2-9t1:2:3", packed(1, 2, 3, 0, 2024, 2, 9)],
    ["9999-12-31 23:59:59.999999", packed(23, 59, 59, 999_999, 9999, 12, 31)],
  ])("takes the text %s", (text, value) => expect(read(JSON.stringify(text), datetime)).toBe(value));

  test.each([
    "2024-02-29T",
    "2024-02-29 ",
    "2024-02-29T12:00",
    "2024-02-29  12:00:00",
    "2024-02-29T12:00:00Z",
    "2024-02-29T12:00:60",
    "2023-02-29T12:00:00",
    "12:00:00",
    "2024-02-29x12:00:00",
  ])("refuses the text %j", (text) => expect(read(JSON.stringify(text), datetime)).toBe("TYPE_MISMATCH"));

  test.each([
    [packed(0, 0, 0, 0, 1, 1, 1), packed(0, 0, 0, 0, 1, 1, 1)],
    [packed(12, 0, 0, 0, 2024, 2, 30), "OUT_OF_RANGE"],
    [packed(12, 0, 0, 0, 2024, 0, 1), "OUT_OF_RANGE"],
    [packed(12, 0, 0, 0, 10_000, 1, 1), "OUT_OF_RANGE"],
    [packed(25, 0, 0, 0, 2024, 1, 1), "OUT_OF_RANGE"],
    ["0", "OUT_OF_RANGE"],
    ["9223372036854775808", "OUT_OF_RANGE"],
  ])("the number %s gives %s", (json, expected) => expect(read(json, datetime)).toBe(expected));

  test(`packs every moment, as text and as a number, PROPERTY_SEED=${propertySeed}`, () => {
    const moment = fc.date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59.999Z"),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 999 }), (at, micro) => {
        const fraction = at.getUTCMilliseconds() * 1000 + micro;
        const text = `${at.toISOString().slice(0, 20)}${String(fraction).padStart(6, "0")}`;
        const [hour, minute, second] = [at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()];
        const value = packed(
          hour,
          minute,
          second,
          fraction,
          at.getUTCFullYear(),
          at.getUTCMonth() + 1,
          at.getUTCDate(),
        );
        expect(read(`"${text}"`, datetime)).toBe(value);
        expect(read(value, datetime)).toBe(value);
        expect(read(`"${text.slice(11)}"`, time)).toBe(packed(hour, minute, second, fraction));
      }),
      { seed: propertySeed, numRuns: 1000 },
    );
  });

  test("says which form it takes", () => {
    expect(convert('"tomorrow"', datetime)).toEqual({
      fault: {
        code: "TYPE_MISMATCH",
        message: "DATETIME takes text like 2024-02-29T23:59:59.999999, of a day and time that exist; got other text",
      },
    });
  });
});
