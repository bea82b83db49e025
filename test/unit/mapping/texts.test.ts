import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, convert, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";

describe("STRING", () => {
  test.each([
    ['"abc"', 3],
    ['"日本語"', 3],
    ['"👍👍"', 2],
    ['"e\u0301"', 2],
    ["123", 3],
    ["true", 4],
    ['""', 1],
  ])("%s has %i characters", (json, length) => {
    expect(outcome(json, column("STRING", { maxLength: length }))).toBe(outcome(json, column("STRING")));
    const shorter = length - 1;
    expect(outcome(json, column("STRING", { maxLength: shorter }))).toBe(json === '""' ? "00" : "OUT_OF_RANGE");
  });

  test("says how long the text was", () => {
    expect(convert('"日本語日"', column("STRING", { maxLength: 3 }))).toEqual({
      fault: { code: "OUT_OF_RANGE", message: "STRING(3) holds at most 3 characters; got 4" },
    });
  });

  test(`keeps any text, PROPERTY_SEED=${propertySeed}`, () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        const count = Array.from(text).length;
        const wire = outcome(JSON.stringify(text), column("STRING", { maxLength: Math.max(count, 1) }));
        expect(readBack(wire, "string")).toBe(text);
        expect(outcome(JSON.stringify(`${text}é`), column("STRING", { maxLength: Math.max(count, 1) }))).toBe(
          count === 0 ? "02c3a9" : "OUT_OF_RANGE",
        );
      }),
      { seed: propertySeed, numRuns: 500 },
    );
  });
});

describe("BOOL", () => {
  test.each([
    ["true", "01"],
    ["false", "00"],
    ['"TRUE"', "01"],
    ['"fAlSe"', "00"],
    ['"t"', "TYPE_MISMATCH"],
    ['"truE "', "TYPE_MISMATCH"],
    ['"tru\u0045"', "01"],
    ['"TRU%"', "TYPE_MISMATCH"],
    ["1", "TYPE_MISMATCH"],
  ])("%s gives %s", (json, expected) => expect(outcome(json, column("BOOL"))).toBe(expected));
});
