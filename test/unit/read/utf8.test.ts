import { isUtf8 } from "node:buffer";
import { expect, test } from "vitest";
import { isValidUtf8 } from "../../../src/read/utf8.ts";

/** Bytes around each border of the grammar. */
const edges = [
  0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
];
const leads = [...edges, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff];

test("short ranges are judged as the engine judges them: every pair of bytes, and every three and four from the borders", () => {
  const disagreed: string[] = [];
  const check = (bytes: readonly number[]): void => {
    const buffer = Buffer.from(bytes);
    if (isValidUtf8(buffer, 0, buffer.length) !== isUtf8(buffer)) disagreed.push(buffer.toString("hex"));
  };
  for (let a = 0; a < 256; a++) for (let b = 0; b < 256; b++) check([a, b]);
  for (const a of leads) for (const b of leads) for (const c of leads) check([a, b, c]);
  for (const a of leads) for (const b of leads) for (const c of edges) for (const d of edges) check([a, b, c, d]);
  expect(disagreed).toEqual([]);
});

test("what stands outside of the range is not looked at", () => {
  const bytes = Buffer.from([0xff, 0xc3, 0xa9, 0xff]);
  expect(isValidUtf8(bytes, 1, 3)).toBe(true);
  expect(isValidUtf8(bytes, 1, 2)).toBe(false);
  expect(isValidUtf8(bytes, 0, 3)).toBe(false);
});

test("long ranges too", () => {
  const long = Buffer.from(`${"é".repeat(100)}x`);
  expect(isValidUtf8(long, 0, long.length)).toBe(true);
  expect(isValidUtf8(long, 0, long.length - 2)).toBe(false);
});
