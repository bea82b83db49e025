import { expect, test } from "vitest";
import { formatDuration, formatSize, parseDuration, parseSize } from "../../../src/lib/units.ts";

test.each([
  ["20ms", 20],
  ["10s", 10_000],
  ["1.5s", 1500],
  ["10m", 600_000],
  ["1h", 3_600_000],
  ["7d", 604_800_000],
  ["0ms", 0],
])("duration %s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  ["1B", 1],
  ["100KiB", 102_400],
  ["20MB", 20_000_000],
  ["9MiB", 9_437_184],
  ["0.5GiB", 536_870_912],
])("size %s is %d bytes", (text, bytes) => {
  expect(parseSize(text)).toBe(bytes);
});

test.each(["", "10", "s", "-1s", "1 s", "1S", "1e3s", "1s2ms", ".5s", "1.s"])("%j is no duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each(["", "10", "1kb", "1Mib", "-1MB", "1 MB", "1TB"])("%j is no size", (text) => {
  expect(parseSize(text)).toBeUndefined();
});

test("amounts are written in the largest unit that gives a whole number", () => {
  expect([0, 20, 1000, 90_000, 600_000, 86_400_000].map(formatDuration)).toEqual([
    "0ms",
    "20ms",
    "1s",
    "90s",
    "10m",
    "1d",
  ]);
  expect([1, 1024, 20_000_000, 9_437_184].map(formatSize)).toEqual(["1B", "1KiB", "20MB", "9MiB"]);
});
