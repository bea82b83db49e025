import { expect, test } from "vitest";
import { backoffMs } from "../../../src/lib/retry.ts";

const bounds = { initialMs: 100, maxMs: 30_000 };

test.each([
  [0, 100],
  [1, 200],
  [5, 3200],
  [8, 25_600],
  [9, 30_000],
  [1000, 30_000],
])("retry %d waits at most %d ms, and any share of that", (attempt, most) => {
  expect(backoffMs(attempt, bounds, () => 0)).toBe(0);
  expect(backoffMs(attempt, bounds, () => 0.5)).toBe(most / 2);
  expect(backoffMs(attempt, bounds, () => 1 - 2 ** -53)).toBeLessThanOrEqual(most);
});

test("pauses are spread over the whole range unless chance is given", () => {
  const pauses = Array.from({ length: 1000 }, () => backoffMs(3, bounds));
  expect(Math.min(...pauses)).toBeLessThan(80);
  expect(Math.max(...pauses)).toBeGreaterThan(720);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(800);
});
