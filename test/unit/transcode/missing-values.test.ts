import { expect, test } from "vitest";
import { mapped } from "../../support/mapped.ts";

test("a REQUIRED field inside a STRUCT is never left to a default: BigQuery fills in columns of the table alone", () => {
  const field = { name: "x", type: "INT64", mode: "REQUIRED", defaultValueExpression: "1" };
  const table = [field, { name: "s", type: "STRUCT", fields: [field] }];
  expect(mapped(table, ["{}", '{"s":{}}', '{"s":{"x":2}}'], { missingValues: "default" })).toEqual([
    { row: {} },
    { refused: "MISSING_REQUIRED s.x" },
    { row: { f2: { f1: "2" } } },
  ]);
});
