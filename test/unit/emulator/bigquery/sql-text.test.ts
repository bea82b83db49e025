import { expect, test } from "vitest";
import { splitName, translateSql } from "../../../../src/emulator/bigquery/sql-text.ts";

test.each([
  ["SELECT * FROM `my-project.sales.orders`", 'SELECT * FROM "my-project"."sales"."orders"'],
  ["SELECT * FROM `my-project`.sales.`orders`", 'SELECT * FROM "my-project".sales."orders"'],
  ["SELECT `str-列` FROM `d.t` AS `x`", 'SELECT "str-列" FROM "d"."t" AS "x"'],
  ['SELECT `a"b` FROM t', 'SELECT "a""b" FROM t'],
  ["SELECT '`a.b`', \"`c.d`\" -- `e.f`\nFROM `g.h`", 'SELECT \'`a.b`\', "`c.d`" -- `e.f`\nFROM "g"."h"'],
  ["SELECT /* `a.b` @x */ 1 # `c`", "SELECT /* `a.b` @x */ 1 -- `c`"],
  ["SELECT 'it''s @x' WHERE a = @x_1", "SELECT 'it''s @x' WHERE a = $x_1"],
])("%s", (bigquery, duckdb) => {
  expect(translateSql(bigquery)).toBe(duckdb);
});

test("names come apart into their parts", () => {
  expect(splitName('"my-proj".d."t.""1"')).toEqual(["my-proj", "d", 't."1']);
  expect(splitName("t")).toEqual(["t"]);
});
