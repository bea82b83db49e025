import { expect, test } from "vitest";
import { InvalidValue } from "../../../../src/emulator/bigquery/cell.ts";
import { parseInterval, textOfInterval } from "../../../../src/emulator/bigquery/interval.ts";

test.each([
  ["1-2 3 10:20:30.456", { months: 14, days: 3, micros: 37_230_456_000n }],
  ["-1-2 3 -10:20:30", { months: -14, days: 3, micros: -37_230_000_000n }],
  ["0-0 -5 0:0:0.000001", { months: 0, days: -5, micros: 1n }],
  ["10000-0 3660000 87840000:0:0", { months: 120_000, days: 3_660_000, micros: 316_224_000_000_000_000n }],
])("%s is read part by part and written as it was", (text, interval) => {
  expect(parseInterval(text)).toEqual(interval);
  expect(textOfInterval(interval)).toBe(text);
});

test("parts are carried within months and within the time, never between them", () => {
  expect(textOfInterval(parseInterval("+0-14 +40 +0:90:90"))).toBe("1-2 40 1:31:30");
  expect(textOfInterval(parseInterval("-0-0 -0 -0:0:0"))).toBe("0-0 0 0:0:0");
});

test.each(["10001-0 0 0:0:0", "0-0 3660001 0:0:0", "0-0 0 87840000:0:1", "1-2", "P1Y", "1-2 3 4:5:6.1234567", ""])(
  "%j is refused",
  (text) => {
    expect(() => parseInterval(text)).toThrow(InvalidValue);
  },
);
