import { expect, test } from "vitest";
import { textTable } from "../../../src/lib/text-table.ts";

test("columns are as wide as their widest cell, in code points; numbers stand to the right; long cells are cut", () => {
  const columns = [{ title: "name", maxWidth: 6 }, { title: "n", align: "right" }, { title: "note" }] as const;
  const rows = [
    ["Zoë 😀", "5", "a"],
    ["abcdefgh", "1234", ""],
  ];
  expect(textTable(columns, rows)).toEqual([
    "name       n  note",
    "------  ----  ----",
    "Zoë 😀      5  a",
    "abcde…  1234",
  ]);
});
