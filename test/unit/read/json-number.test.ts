import { describe, expect, test } from "vitest";
import { jsonNumberFate, scanNumber } from "../../../src/read/json-number.ts";

/** Every text of up to five of these characters. */
function* candidates(): Generator<string> {
  const alphabet = ["0", "7", "-", "+", ".", "e"];
  let texts = [""];
  for (let length = 1; length <= 5; length++) {
    texts = texts.flatMap((text) => alphabet.map((character) => text + character));
    yield* texts;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a whole text is a number exactly when JSON.parse takes it: all of up to five characters", () => {
  const disagreed = [...candidates()].filter((text) => {
    const bytes = Buffer.from(`1${text}1`);
    const end = scanNumber(bytes, 1, bytes.length - 1);
    return (end === bytes.length - 1) !== isJson(text);
  });
  expect(disagreed).toEqual([]);
});

test.each([
  ["1,", 1],
  ["-0.5e-7]", 7],
  ["10 ", 2],
  ["01", -1 - 0],
  ["-", -1 - 1],
  ["1.", -1 - 2],
  ["1.e5", -1 - 2],
  ["1e+", -1 - 3],
  ["-01", -1 - 1],
])("%j ends, or breaks, at its place", (text, expected) => {
  const bytes = Buffer.from(text);
  expect(scanNumber(bytes, 0, bytes.length)).toBe(expected);
});

describe("what a JSON column makes of a number", () => {
  const fate = (text: string): string => jsonNumberFate(Buffer.from(`9${text}9`), 1, text.length + 1);

  test.each(
    [
      "0 -0 18446744073709551615 -9223372036854775808 1.5 0.1 1e300 -1e-300 5e-324 1.7976931348623157e308 1e2 1E5",
      "123456789012345.0 9007199254740993 0e99999 100000000000000000000e0 1000000000000000000000.0 0.000001",
    ].flatMap((line) => line.split(" ")),
  )("%s is kept", (text) => {
    expect(fate(text)).toBe("exact");
  });

  test.each(
    [
      "18446744073709551616 -9223372036854775809 9007199254740993.0 0.10000000000000000001 1e-400 4.9e-324",
      "100000000000000000000 123456789012345678.9 12345678901234567890.0",
    ].flatMap((line) => line.split(" ")),
  )("%s is changed", (text) => {
    expect(fate(text)).toBe("changed");
  });

  test.each(["1e309", "-1e400", "9".repeat(400), "1.8e308"])("%s is too large", (text) => {
    expect(fate(text)).toBe("tooLarge");
  });

  test("a megabyte of digits is no matter", () => {
    const start = performance.now();
    expect(fate(`1.${"0".repeat(1_000_000)}1`)).toBe("changed");
    expect(fate("7".repeat(1_000_000))).toBe("tooLarge");
    expect(performance.now() - start).toBeLessThan(1000);
  });
});
