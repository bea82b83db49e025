import { expect, test } from "vitest";
import { checkedJson } from "../../../../src/emulator/bigquery/json-text.ts";

test.each(["null", '{"a":[1,2.5e3,"\\u00e9"]}', " 1 ", "18446744073709551615", '"\\ud83d\\ude00"', "1e308"])(
  "%s is taken as it is",
  (text) => {
    expect(checkedJson(text)).toBe(text);
  },
);

test.each([
  ["", "no JSON"],
  ["{", "no JSON"],
  ["'a'", "no JSON"],
  ["1 2", "no JSON"],
  ["NaN", "no JSON"],
  ["[1e400]", "out of range"],
  [`{"a":-${"9".repeat(310)}}`, "out of range"],
  ['{"a":"\\ud800"}', "lone surrogate"],
  ['{"\\udc00":1}', "lone surrogate"],
])("%s is refused", (text, words) => {
  expect(() => checkedJson(text)).toThrow(words);
});

test("500 levels pass, 501 do not, and depth costs no stack", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  expect(checkedJson(nested(500))).toHaveLength(1000);
  expect(() => checkedJson(nested(501))).toThrow("500 levels");
  expect(() => checkedJson(nested(100_000))).toThrow("500 levels");
});
