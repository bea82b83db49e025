import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { column, convert, outcome, readBack } from "../../support/convert.ts";
import { propertySeed } from "../../support/property-seed.ts";

const bytes = column("BYTES");

describe("BYTES", () => {
  test.each([
    "A",
    "AAAAA",
    "A===",
    "AA=",
    "AAA==",
    "AAAA=",
    "AAAA====",
    "=",
    "====",
    "AA==AA==",
    "AB==",
    "AAB=",
    "AAB",
    "A A=",
    " AAA",
    "AAAA\n",
    "AA\r\nAA",
    "+_AA",
    "-/AA",
    "AA.A",
    "AAé",
    "AA\u0000A",
  ])("refuses %j", (text) => expect(outcome(JSON.stringify(text), bytes)).toBe("TYPE_MISMATCH"));

  test("BYTES(L) counts bytes, and says how many there were", () => {
    const three = column("BYTES", { maxLength: 3 });
    expect(readBack(outcome('"AAEC"', three), "bytes")).toBe("000102");
    expect(convert('"AAECAw=="', three)).toEqual({
      fault: { code: "OUT_OF_RANGE", message: "BYTES(3) holds at most 3 bytes; got 4" },
    });
    expect(outcome('"AAECA"', three)).toBe("TYPE_MISMATCH");
  });

  test(`decodes what any encoder gives, and nothing that differs from it, PROPERTY_SEED=${propertySeed}`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (array) => {
        const content = Buffer.from(array);
        const standard = content.toString("base64");
        const url = content.toString("base64url");
        const padded = url.padEnd(Math.ceil(url.length / 4) * 4, "=");
        for (const text of [standard, standard.replaceAll("=", ""), url, padded]) {
          expect(readBack(outcome(`"${text}"`, bytes), "bytes")).toBe(content.toString("hex"));
        }
      }),
      { seed: propertySeed, numRuns: 500 },
    );
    const near = fc.string({ unit: fc.constantFrom(..."AQgw+/-_=8 ".split("")), maxLength: 9 });
    fc.assert(
      fc.property(near, (text) => {
        const spellings = (["base64", "base64url"] as const).flatMap((encoding) => {
          const again = Buffer.from(text, encoding).toString(encoding).replaceAll("=", "");
          return [again, again.padEnd(Math.ceil(again.length / 4) * 4, "=")];
        });
        expect(outcome(`"${text}"`, bytes) === "TYPE_MISMATCH").toBe(!spellings.includes(text));
      }),
      { seed: propertySeed, numRuns: 3000 },
    );
  });
});
