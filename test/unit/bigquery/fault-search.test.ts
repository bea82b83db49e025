import { expect, test } from "vitest";
import { FaultSearch } from "../../../src/bigquery/fault-search.ts";

test("a row is blamed only when it was refused, then others were taken, then it was refused again", () => {
  const search = new FaultSearch(1000);
  expect(search.refused(1, undefined, 1500, true)).toBe("wait");
  expect(search.refused(1, 2000, -Infinity, true)).toBe("wait");
  expect(search.refused(1, 2000, 1999, true)).toBe("wait");
  expect(search.refused(1, 2000, 2000, false)).toBe("refuse");
});

test("while nothing is taken, the search goes down one path: each size is halved once, the other half waits", () => {
  const search = new FaultSearch(1000);
  const sizes = [8, 4, 4, 2, 2, 1, 1];
  expect(sizes.map((size) => search.refused(size, 1000, -Infinity, true))).toEqual([
    "halve",
    "halve",
    "wait",
    "halve",
    "wait",
    "wait",
    "wait",
  ]);
  search.startOver();
  expect(search.refused(4, 1000, -Infinity, true)).toBe("halve");
});

test("once something is taken, every part is halved; a search that may not guess waits for that", () => {
  const search = new FaultSearch(1000);
  expect(search.refused(8, 1000, -Infinity, false)).toBe("wait");
  expect([8, 4, 4].map((size) => search.refused(size, 1000, 1000, false))).toEqual(["halve", "halve", "halve"]);
});
