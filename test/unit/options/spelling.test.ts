import { expect, test } from "vitest";
import { nearest } from "../../../src/options/spelling.ts";

const known = ["table", "useTableSchema", "useTopicSchema", "columns", "name"];

test.each([
  ["tabel", "table"],
  ["Table", "table"],
  ["useTableShema", "useTableSchema"],
  ["use_table_schema", "useTableSchema"],
  ["column", "columns"],
  ["zebra", undefined],
  ["x", undefined],
])("%s may mean %s", (word, meant) => {
  expect(nearest(word, known)).toBe(meant);
});
