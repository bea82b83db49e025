import { expect, test } from "vitest";
import { parseDuration, parseSize } from "../../../src/options/units.ts";

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
