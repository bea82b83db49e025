import { expect, test } from "vitest";
import { bindings, withParameters } from "../../../../src/emulator/bigquery/query-parameters.ts";

const named = [{ name: "x", parameterType: { type: "INT64" }, parameterValue: { value: "9007199254740993" } }];
const positional = [
  { parameterType: { type: "STRING" }, parameterValue: { value: "a" } },
  { parameterType: { type: "TIMESTAMP" }, parameterValue: { value: null } },
];

test("named parameters are cast to their type, in texts they are left alone", () => {
  expect(withParameters("SELECT '$x' WHERE a = $x AND b < $X", named)).toEqual({
    sql: "SELECT '$x' WHERE a = CAST($x AS BIGINT) AND b < CAST($X AS BIGINT)",
    withNulls: "SELECT '$x' WHERE a = CAST(NULL AS BIGINT) AND b < CAST(NULL AS BIGINT)",
  });
  expect(bindings(named)).toEqual({ x: "9007199254740993" });
});

test("positional ones by their order", () => {
  expect(withParameters("SELECT ?, ?", positional).sql).toBe("SELECT CAST(? AS VARCHAR), CAST(? AS TIMESTAMPTZ)");
  expect(bindings(positional)).toEqual(["a", null]);
});

test("one too few, and one that is no scalar, are refused", () => {
  expect(() => withParameters("SELECT ?, ?, ?", positional)).toThrow("number 3 not found");
  expect(() => withParameters("SELECT $y", named)).toThrow("y not found");
  expect(() => withParameters("SELECT $z", [{ name: "z", parameterType: { type: "ARRAY" } }])).toThrow("no ARRAY");
});
