import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, convert, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";
import type { ConversionOptions } from "../../../src/mapping/conversion-options.ts";

const micros = column("TIMESTAMP");
const picos = column("TIMESTAMP", { timestampPrecision: 12 });

function read(json: string, options: Partial<ConversionOptions> = {}): string {
  const wire = outcome(json, micros, options);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "int64") : wire;
}

function readText(json: string, options: Partial<ConversionOptions> = {}): string {
  const wire = outcome(json, picos, options);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "string") : wire;
}

const noon = 1_709_208_000_000_000n; // 2024-02-29T12:00:00Z

describe("TIMESTAMP of text", () => {
  test.each([
    ["2024-02-29T12:00:00Z", noon],
    ["2024-02-29 12:00:00", noon],
    ["2024-2-29t12:0:0z", noon],
    ["2024-02-29T12:00:00.000001+00:00", noon + 1n],
    ["2024-02-29T12:00:00+2", noon - 7_200_000_000n],
    ["2024-02-29T12:00:00-02:30", noon + 9_000_000_000n],
    ["2024-02-29T12:00:00+5:3", noon - 18_180_000_000n],
    ["2024-02-29T12:00:00-14:00", noon + 50_400_000_000n],
    ["2024-02-29", noon - 43_200_000_000n],
    ["2024-02-29Z", noon - 43_200_000_000n],
    ["2024-02-29+01:00", noon - 46_800_000_000n],
    ["2024-02-29 UTC", noon - 43_200_000_000n],
    ["2024-02-29 12:00:00 gmt", noon],
    ["2024-02-29 12:00:00 Europe/Berlin", noon - 3_600_000_000n],
    ["2024-02-29 Asia/Tokyo", noon - 43_200_000_000n - 32_400_000_000n],
    ["2016-12-31T23:59:60Z", 1_483_228_800_000_000n],
    ["0001-01-01T00:00:00Z", -62_135_596_800_000_000n],
    ["9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999n],
    ["9999-12-31T23:59:59.999999+14:00", 253_402_300_799_999_999n - 50_400_000_000n],
  ])("%s", (text, value) => expect(read(`"${text}"`)).toBe(String(value)));

  test.each([
    ["2024-02-29T12:00", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:61Z", "TYPE_MISMATCH"],
    ["2024-02-29T23:59:60.0Z", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00+14:01", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00+0530", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00+05:", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00+", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00 +05:30", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00  UTC", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00ZZ", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00UTC", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00 CET", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00 Europe/Atlantis", "TYPE_MISMATCH"],
    ["2024-02-30T12:00:00 Europe/Berlin", "TYPE_MISMATCH"],
    ["2024-02-29T12:00:00.1234567Z", "PRECISION_LOSS"],
    ["0001-01-01T00:00:00+00:01", "OUT_OF_RANGE"],
    ["9999-12-31T23:59:60Z", "OUT_OF_RANGE"],
    ["9999-12-31T23:59:59-00:01", "OUT_OF_RANGE"],
    ["1e6", "TYPE_MISMATCH"],
    ["1.5", "TYPE_MISMATCH"],
    ["+5", "TYPE_MISMATCH"],
    ["-", "TYPE_MISMATCH"],
    ["", "TYPE_MISMATCH"],
  ])("refuses %j: %s", (text, code) => expect(read(JSON.stringify(text))).toBe(code));

  test("fractions beyond the microsecond are cut off with onPrecisionLoss: round", () => {
    expect(read('"2024-02-29T12:00:00.9999999Z"', { onPrecisionLoss: "round" })).toBe(String(noon + 999_999n));
    expect(read('"1969-12-31T23:59:59.9999999Z"', { onPrecisionLoss: "round" })).toBe("-1");
  });

  test("digits alone read as the number would", () => {
    expect(read('"1709208000"', { timestampUnit: "seconds" })).toBe(String(noon));
    expect(read('"-0007"')).toBe("-7");
    expect(read(`"${"9".repeat(30)}"`)).toBe("OUT_OF_RANGE");
  });

  test("says why a local time cannot be", () => {
    const messages = ["2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-10-27 02:30:00x"].map((local) => {
      const converted = convert(`"${local} Europe/Berlin"`, micros);
      return "fault" in converted ? converted.fault.message : "";
    });
    expect(messages[0]).toMatch(/skips this local time/);
    expect(messages[1]).toMatch(/has this local time twice/);
    expect(messages[2]).toMatch(/takes text like/);
  });

  test(`is the microsecond that Date and BigInt give, with any offset, PROPERTY_SEED=${propertySeed}`, () => {
    const moment = fc.integer({ min: -62_135_596_800 + 50_400, max: 253_402_300_799 - 50_400 });
    const offset = fc.integer({ min: -840, max: 840 });
    fc.assert(
      fc.property(moment, fc.integer({ min: 0, max: 999_999 }), offset, (seconds, micro, minutes) => {
        const local = new Date((seconds + minutes * 60) * 1000).toISOString().slice(0, 19);
        const size = Math.abs(minutes);
        const zone = `${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}:${String(size % 60).padStart(2, "0")}`;
        const text = `"${local}.${String(micro).padStart(6, "0")}${zone}"`;
        const value = BigInt(seconds) * 1_000_000n + BigInt(micro);
        expect(read(text)).toBe(String(value));
        expect(read(String(value))).toBe(String(value));
        const utc = new Date(seconds * 1000).toISOString().slice(0, 19);
        expect(readText(text)).toBe(`${utc}.${String(micro).padStart(6, "0")}+00:00`);
        expect(readText(String(value))).toBe(`${utc}.${String(micro).padStart(6, "0")}+00:00`);
      }),
      { seed: propertySeed, numRuns: 2000 },
    );
  });
});

describe("TIMESTAMP of numbers", () => {
  test.each([
    ["1709208000", "seconds", String(noon)],
    ["1709208000.5", "seconds", String(noon + 500_000n)],
    ["1709208000.000001", "seconds", String(noon + 1n)],
    ["1709208000.0000010", "seconds", String(noon + 1n)],
    ["1709208000.0000001", "seconds", "PRECISION_LOSS"],
    ["-0.000001", "seconds", "-1"],
    ["1.709208e9", "seconds", String(noon)],
    ["253402300799.999999", "seconds", "253402300799999999"],
    ["253402300800", "seconds", "OUT_OF_RANGE"],
    ["-62135596800", "seconds", "-62135596800000000"],
    ["-62135596800.000001", "seconds", "OUT_OF_RANGE"],
    ["1709208000000.125", "millis", String(noon + 125n)],
    ["1709208000000.1255", "millis", "PRECISION_LOSS"],
    ["9007199254740", "millis", "9007199254740000"],
    ["9007199254741", "millis", "9007199254741000"],
    ["9.9e14", "millis", "OUT_OF_RANGE"],
    [String(noon), "micros", String(noon)],
    [`${noon}.0`, "micros", String(noon)],
    [`${noon}.5`, "micros", "TYPE_MISMATCH"],
    ["9007199254740993", "micros", "9007199254740993"],
    ["253402300799999999", "micros", "253402300799999999"],
    ["253402300800000000", "micros", "OUT_OF_RANGE"],
    ["-62135596800000000", "micros", "-62135596800000000"],
    ["-62135596800000001", "micros", "OUT_OF_RANGE"],
    ["1e999999999", "micros", "OUT_OF_RANGE"],
    ["1e-999999999", "seconds", "PRECISION_LOSS"],
    [`${noon}000`, "nanos", String(noon)],
    [`${noon}001`, "nanos", "PRECISION_LOSS"],
    ["1000.5", "nanos", "TYPE_MISMATCH"],
    ["0", "nanos", "0"],
  ] as const)("%s %s", (json, timestampUnit, expected) => expect(read(json, { timestampUnit })).toBe(expected));

  test("are cut off at the microsecond with onPrecisionLoss: round", () => {
    expect(read("1.9999999", { timestampUnit: "seconds", onPrecisionLoss: "round" })).toBe("1999999");
    expect(read(`${noon}999`, { timestampUnit: "nanos", onPrecisionLoss: "round" })).toBe(String(noon));
  });
});

describe("TIMESTAMP(12)", () => {
  test.each([
    ["2024-02-29", "2024-02-29T00:00:00.000000+00:00"],
    ["2024-2-29 1:2:3.5+01:00", "2024-02-29T00:02:03.500000+00:00"],
    ["2024-02-29T12:00:00.1234567Z", "2024-02-29T12:00:00.123456700+00:00"],
    ["2024-02-29T12:00:00.123456789Z", "2024-02-29T12:00:00.123456789+00:00"],
    ["2024-02-29T12:00:00.1234567890000Z", "2024-02-29T12:00:00.123456789+00:00"],
    ["2024-02-29T12:00:00.1234567891Z", "2024-02-29T12:00:00.1234567891Z"],
    ["2024-02-29T12:00:00.123456789100Z", "2024-02-29T12:00:00.123456789100Z"],
    ["2024-02-29T12:00:00.123456789012000Z", "2024-02-29T12:00:00.123456789012000Z"],
    ["2024-02-29t12:00:00.123456789012-08", "2024-02-29t12:00:00.123456789012-08"],
    ["2024-02-29T12:00:00.1234567890123Z", "PRECISION_LOSS"],
    ["9999-12-31T23:59:59.123456789012-01:00", "OUT_OF_RANGE"],
    ["0001-01-01 00:00:00 Asia/Tokyo", "OUT_OF_RANGE"],
    ["2024-02-29T12:00:00.123456789012 XYZ", "TYPE_MISMATCH"],
    ["1709208000000001", "2024-02-29T12:00:00.000001+00:00"],
  ])("the text %s gives %s", (text, expected) => expect(readText(`"${text}"`)).toBe(expected));

  test.each([
    ["-1", "micros", "1969-12-31T23:59:59.999999+00:00"],
    ["-62135596800000000", "micros", "0001-01-01T00:00:00.000000+00:00"],
    ["253402300799999999", "micros", "9999-12-31T23:59:59.999999+00:00"],
    ["253402300800000000", "micros", "OUT_OF_RANGE"],
    ["1.5", "micros", "TYPE_MISMATCH"],
    ["1.5", "seconds", "1970-01-01T00:00:01.500000+00:00"],
    ["1.0000001", "seconds", "PRECISION_LOSS"],
    ["1709208000123456789", "nanos", "2024-02-29T12:00:00.123456789+00:00"],
    ["-1", "nanos", "1969-12-31T23:59:59.999999999+00:00"],
    ["253402300799999999999", "nanos", "9999-12-31T23:59:59.999999999+00:00"],
    ["253402300800000000000", "nanos", "OUT_OF_RANGE"],
  ] as const)("the number %s of %s gives %s", (json, timestampUnit, expected) => {
    expect(readText(json, { timestampUnit })).toBe(expected);
  });

  test("the digits behind the twelfth are cut off with onPrecisionLoss: round", () => {
    const options = { onPrecisionLoss: "round" } as const;
    expect(readText('"2024-02-29T12:00:00.1234567890129+01:00"', options)).toBe(
      "2024-02-29T12:00:00.123456789012+01:00",
    );
    expect(readText('"2024-02-29T12:00:00.1234560000009+01:00"', options)).toBe("2024-02-29T11:00:00.123456+00:00");
  });
});
