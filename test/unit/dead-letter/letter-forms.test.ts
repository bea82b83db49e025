import { describe, expect, test } from "vitest";
import { carriedAttributes, letterForms } from "../../../src/dead-letter/letter-forms.ts";

const added = {
  least: [["l", "1"]],
  needed: [["n", "2"]],
  extras: [
    ["x", "3"],
    ["y", "4"],
  ],
} as const;

/** The forms of a letter, each as its attributes. */
function forms(message: Readonly<Record<string, string>>, roomBytes = Infinity): Record<string, string>[] {
  return [...letterForms(new Map(Object.entries(message)), added, roomBytes)].map((form) => Object.fromEntries(form));
}

describe("a letter within the limits", () => {
  test("has all, then loses the extras, then its attributes are moved, then what is needed, then all but the least", () => {
    expect(forms({ a: "A", b: "B" })).toEqual([
      { a: "A", b: "B", l: "1", n: "2", x: "3", y: "4" },
      { a: "A", b: "B", l: "1", n: "2" },
      { millrace_attributes_1: '{"a":"A","b":"B"}', l: "1", n: "2" },
      { millrace_attributes_1: '{"a":"A","b":"B"}', l: "1" },
      { millrace_attributes_left_out: "2: a, b", l: "1" },
    ]);
  });

  test("without attributes has nothing to move", () => {
    expect(forms({})).toEqual([{ l: "1", n: "2", x: "3", y: "4" }, { l: "1", n: "2" }, { l: "1" }]);
  });
});

describe("of the attributes of a message, a letter carries on", () => {
  const message = new Map(Object.entries({ a: "A", l: "old", n: "old", x: "old" }));

  test("all, and what has the name of one of its own moves aside", () => {
    expect(Object.fromEntries(carriedAttributes(message, added, false))).toEqual({
      a: "A",
      millrace_original_l: "old",
      millrace_original_n: "old",
      millrace_original_x: "old",
    });
  });

  test("not what an earlier letter said in place of what this one says", () => {
    expect(Object.fromEntries(carriedAttributes(message, added, true))).toEqual({ a: "A" });
  });
});

test("extras give way one by one where there is no room", () => {
  // Every entry of one letter each takes 8 bytes.
  expect(forms({ a: "A" }, 40)[0]).toEqual({ a: "A", l: "1", n: "2", x: "3", y: "4" });
  expect(forms({ a: "A" }, 39)[0]).toEqual({ a: "A", l: "1", n: "2", x: "3" });
  expect(forms({ a: "A" }, 24)[0]).toEqual({ a: "A", l: "1", n: "2" });
});

test("no room at all: the least is tried all the same", () => {
  expect(forms({ a: "A" }, 7)).toEqual([{ millrace_attributes_left_out: "1: a", l: "1" }]);
});

test("too many attributes are moved, which makes room for the extras", () => {
  const many = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`k${i}`, "v"]));
  const [first, second, ...rest] = forms(many);
  expect(Object.keys(first!)).toEqual([...Object.keys(second!), "x", "y"]);
  expect(Object.keys(second!)).toEqual(["millrace_attributes_1", "l", "n"]);
  expect(JSON.parse(first!["millrace_attributes_1"]!)).toEqual(many);
  expect(rest).toHaveLength(2);
});

test("98 and two are a hundred: nothing is moved", () => {
  const many = Object.fromEntries(Array.from({ length: 98 }, (_, i) => [`k${i}`, "v"]));
  expect(forms(many)[0]).toEqual({ ...many, l: "1", n: "2" });
});
