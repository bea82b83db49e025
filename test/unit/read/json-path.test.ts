import { expect, test } from "vitest";
import { pathOf } from "../../../src/read/json-path.ts";
import { JsonReader } from "../../../src/read/json-reader.ts";

const text = ' { "a" : 1 , "b":{"c":[10, {"d e":"x,]"}, [[], 7]], "\\u00e9\\n":{}}, "a[0]":{"":true}} ';

test.each([
  ['{ "a"', ""],
  ["1 ,", "a"],
  ['"b"', "b"],
  ["10", "b.c[0]"],
  ['"d e"', "b.c[1].d e"],
  ['"x,]"', "b.c[1].d e"],
  ["[[]", "b.c[2]"],
  ["[], 7", "b.c[2][0]"],
  ["7]]", "b.c[2][1]"],
  ["{}}", "b.é\n"],
  ['"a[0]"', "a[0]"],
  ["true", "a[0]."],
])("the path of %s is %j", (part, expected) => {
  const padding = Buffer.from("]]}");
  const bytes = Buffer.concat([padding, Buffer.from(text), Buffer.from('{"z":')]);
  const reader = new JsonReader();
  reader.open(bytes, bytes.length - 5);
  const offset = bytes.indexOf(part);
  expect(pathOf(reader, padding.length, offset)).toBe(expected);
});
