import { describe, expect, test } from "vitest";
import { cutToBytes, encodedBytes, fits } from "../../../src/dead-letter/attribute-limits.ts";

describe("a text cut to bytes", () => {
  test.each([
    ["abcdef", 6, "abcdef"],
    ["abcdefg", 6, "abc…"],
    ["ab😀cd", 8, "ab😀cd"],
    ["ab😀cde", 8, "ab…"],
    ["ab😀cdef", 9, "ab😀…"],
    ["äää", 5, "ä…"],
  ])("%s to %i", (text, maxBytes, cut) => {
    expect(cutToBytes(text, maxBytes)).toBe(cut);
  });
});

describe("what a topic takes", () => {
  const many = (count: number): Map<string, string> =>
    new Map(Array.from({ length: count }, (_, i): [string, string] => [`k${i}`, "v"]));
  const one = (key: string, value: string): Map<string, string> => new Map([[key, value]]);

  test.each([
    ["100 attributes", many(100), true],
    ["101 attributes", many(101), false],
    ["a key of 256 bytes", one("ä".repeat(128), ""), true],
    ["a key of 257 bytes", one(`a${"ä".repeat(128)}`, ""), false],
    ["a value of 1,024 bytes", one("k", "ä".repeat(512)), true],
    ["a value of 1,025 bytes", one("k", `a${"ä".repeat(512)}`), false],
    ["a name of Google's own", one("googclient_schemaname", "s"), false],
  ])("%s", (_, attributes, taken) => {
    expect(fits(attributes, Infinity)).toBe(taken);
  });

  test("as far as the message has room", () => {
    // The entry's tag and length (2), the key's tag and length (2) and bytes, the value's tag and length (2) and bytes.
    expect(encodedBytes(one("k", "v"))).toBe(8);
    expect(fits(one("k", "v"), 8)).toBe(true);
    expect(fits(one("k", "v"), 7)).toBe(false);
  });
});
