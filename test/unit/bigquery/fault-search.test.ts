import { expect, test } from "vitest";
import { FaultSearch } from "../../../src/bigquery/fault-search.ts";

test("a row is blamed only when others were stored after the first refusal", () => {
  const search = new FaultSearch(1000, true);
  expect(search.refused(1, -Infinity)).toBe("wait");
  expect(search.refused(1, 999)).toBe("wait");
  expect(search.refused(1, 1000)).toBe("refuse");
});

test("several rows are halved, as often as it takes to come down to one of the largest request", () => {
  const search = new FaultSearch(1000, true);
  const steps = Array.from({ length: 20 }, () => search.refused(1 << 16, -Infinity));
  expect(steps).toEqual(Array.from({ length: 20 }, () => "halve"));
});

test("without any success halving ends, and goes on with the first one", () => {
  const search = new FaultSearch(1000, true);
  for (let i = 0; i < 20; i++) search.refused(2, -Infinity);
  expect(search.refused(2, -Infinity)).toBe("wait");
  expect(search.refused(2, 2000)).toBe("halve");
});
