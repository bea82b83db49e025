import { expect, test } from "vitest";
import { mapped } from "../../support/mapped.ts";

const mebibyte = 1024 * 1024;

test("a text counts by what it becomes: one of many escapes fits, whatever was written before it", () => {
  const first = "x".repeat(mebibyte - 1000);
  const escaped = String.raw`\u0041`.repeat(400_000);
  const limits = { maxBytes: mebibyte, maxRequestBytes: 2 * mebibyte };
  const [before, behind] = mapped(
    [{ name: "s", type: "STRING" }],
    [`{"s":"${first}"}`, `{"s":"${escaped}"}`],
    {},
    limits,
  );
  expect(before?.row?.f1 === first).toBe(true);
  expect(behind?.row?.f1 === "A".repeat(400_000)).toBe(true);
});
