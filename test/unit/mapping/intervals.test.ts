import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";
import type { ConversionOptions } from "../../../src/mapping/conversion-options.ts";

function read(text: string, options: Partial<ConversionOptions> = {}): string {
  const wire = outcome(JSON.stringify(text), column("INTERVAL"), options);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "string") : wire;
}

describe("INTERVAL", () => {
  test.each([
    ["1-2 3 10:20:30.456", "1-2 3 10:20:30.456"],
    ["+01-02 +03 +04:05:06.700", "1-2 3 4:5:6.7"],
    ["-0-0 -0 -0:0:0", "0-0 0 0:0:0"],
    ["-0-1 2 -0:0:0.000001", "-0-1 2 -0:0:0.000001"],
    ["0-0 0 87840000:0:0.0", "0-0 0 87840000:0:0"],
    ["P1Y2M3DT4H5M6.7S", "1-2 3 4:5:6.7"],
    ["P-14M", "-1-2 0 0:0:0"],
    ["P2W", "0-0 14 0:0:0"],
    ["P1W-10D", "0-0 -3 0:0:0"],
    ["PT1H-90M", "0-0 0 -0:30:0"],
    ["PT1M-0.5S", "0-0 0 0:0:59.5"],
    ["PT-1M0.5S", "0-0 0 -0:0:59.5"],
    ["PT-0.5S", "0-0 0 -0:0:0.5"],
    ["PT100000S", "0-0 0 27:46:40"],
    ["P10000YT87840000H", "10000-0 0 87840000:0:0"],
    ["P1Y-12M", "0-0 0 0:0:0"],
  ])("%s becomes %s", (text, expected) => expect(read(text)).toBe(expected));

  test.each([
    ["", "TYPE_MISMATCH"],
    ["P", "TYPE_MISMATCH"],
    ["PT", "TYPE_MISMATCH"],
    ["P1DT", "TYPE_MISMATCH"],
    ["P1.5D", "TYPE_MISMATCH"],
    ["P1D2M", "TYPE_MISMATCH"],
    ["P1D1D", "TYPE_MISMATCH"],
    ["P1H", "TYPE_MISMATCH"],
    ["-P1D", "TYPE_MISMATCH"],
    ["p1d", "TYPE_MISMATCH"],
    ["PT1.S", "TYPE_MISMATCH"],
    ["PT.5S", "TYPE_MISMATCH"],
    ["1-12 0 0:0:0", "TYPE_MISMATCH"],
    ["1-2 0 0:60:0", "TYPE_MISMATCH"],
    ["1-2 0 0:0:60", "TYPE_MISMATCH"],
    ["1-2  0 0:0:0", "TYPE_MISMATCH"],
    ["1--2 0 0:0:0", "TYPE_MISMATCH"],
    ["1-2 0 0:0", "TYPE_MISMATCH"],
    ["1-2 0 0:0:0.", "TYPE_MISMATCH"],
    ["1-2 0 0:0:0 ", "TYPE_MISMATCH"],
    ["1-2 0 ０:0:0", "TYPE_MISMATCH"],
    ["10000-1 0 0:0:0", "OUT_OF_RANGE"],
    ["-10000-1 0 0:0:0", "OUT_OF_RANGE"],
    ["0-0 -3660001 0:0:0", "OUT_OF_RANGE"],
    ["0-0 0 -87840000:0:0.000001", "OUT_OF_RANGE"],
    ["P999999999999999999999999Y", "OUT_OF_RANGE"],
    [`0-0 ${"9".repeat(400)} 0:0:0`, "OUT_OF_RANGE"],
    ["PT0.1234567S", "PRECISION_LOSS"],
    ["0-0 0 0:0:0.0000001", "PRECISION_LOSS"],
  ])("refuses %j: %s", (text, code) => expect(read(text)).toBe(code));

  test("zeros at the end of a fraction do not count, digits behind the sixth may be cut off", () => {
    expect(read("PT0.1234560000S")).toBe("0-0 0 0:0:0.123456");
    expect(read("PT-0.1234569S", { onPrecisionLoss: "round" })).toBe("0-0 0 -0:0:0.123456");
  });

  test(`carries durations by BigInt's arithmetic, PROPERTY_SEED=${propertySeed}`, () => {
    const part = (most: number): fc.Arbitrary<number> => fc.integer({ min: -most, max: most });
    const duration = fc.tuple(
      part(5000),
      part(50_000),
      part(3_000_000),
      part(40_000_000),
      part(9_000_000),
      part(9_000_000_000),
    );
    fc.assert(
      fc.property(duration, fc.integer({ min: 0, max: 999_999 }), ([y, mo, d, h, mi, s], micro) => {
        const sign = s < 0 || Object.is(s, -0) ? -1n : 1n;
        const months = BigInt(y * 12 + mo);
        const micros = ((BigInt(h) * 60n + BigInt(mi)) * 60n + BigInt(s)) * 1_000_000n + sign * BigInt(micro);
        const size = (value: bigint): bigint => (value < 0n ? -value : value);
        const minus = (value: bigint): string => (value < 0n ? "-" : "");
        const seconds = size(micros) / 1_000_000n;
        const digits = String(size(micros) % 1_000_000n)
          .padStart(6, "0")
          .replace(/0+$/, "");
        const clock = `${seconds / 3600n}:${(seconds / 60n) % 60n}:${seconds % 60n}${digits === "" ? "" : `.${digits}`}`;
        const canonical = `${minus(months)}${size(months) / 12n}-${size(months) % 12n} ${d} ${minus(micros)}${clock}`;
        const written = `P${y}Y${mo}M${d}DT${h}H${mi}M${sign < 0n ? "-" : ""}${Math.abs(s)}.${String(micro).padStart(6, "0")}S`;
        expect(read(written)).toBe(canonical);
        expect(read(canonical)).toBe(canonical);
      }),
      { seed: propertySeed, numRuns: 1000 },
    );
  });
});
