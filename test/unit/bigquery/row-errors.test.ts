import { expect, test } from "vitest";
import { columnNamedIn, errorsByRow, rowRejected } from "../../../src/bigquery/row-errors.ts";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";

const table = parseTableSchema([
  { name: "foo", type: "STRING", maxLength: "10" },
  { name: "Bar", type: "TIMESTAMP" },
  {
    name: "order",
    type: "RECORD",
    fields: [{ name: "items", type: "RECORD", mode: "REPEATED", fields: [{ name: "price", type: "NUMERIC" }] }],
  },
]);

/** The first two are BigQuery's, as its clients' live tests have them. */
test.each([
  ["Field foo: STRING(10) has maximum length 10 but got a value with length 12 on field foo.", "foo"],
  ["Timestamp field value is out of range: -9223372036854775808 on field bar.", "Bar"],
  ["Numeric overflow on field root.order.items[3].price", "order.items[3].price"],
  ["Bad value for column: `FOO`", "foo"],
  ["field 123-45-6789 is secret", ""],
  ["value of field foo.secret is bad", ""],
  ["the row is bad", ""],
])("%s → %j", (message, path) => {
  expect(columnNamedIn(message, table)).toBe(path);
});

test("the refusal keeps BigQuery's words apart from ours", () => {
  expect(rowRejected("secret on field foo.", table)).toEqual({
    code: "ROW_REJECTED",
    path: "foo",
    stage: "append",
    message: "BigQuery refused the value of this column",
    serverMessage: "secret on field foo.",
  });
  expect(rowRejected("secret", undefined)).toMatchObject({ path: "", serverMessage: "secret" });
});

test("errors by row: the first of each row, none of rows that the request has not", () => {
  const errors = [
    { index: 4, message: "a" },
    { index: 2, message: "b" },
    { index: 4, message: "c" },
    { index: 5, message: "d" },
  ];
  expect([...errorsByRow(errors, 5)]).toEqual([
    [4, errors[0]],
    [2, errors[1]],
  ]);
});
