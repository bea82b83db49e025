import { expect, test } from "vitest";
import { mapped } from "../../support/mapped.ts";

const integers = [
  { name: "a", type: "INT64" },
  { name: "b", type: "INT64" },
];

test("a dropped key that spells other members does not hide them in the messages behind it", () => {
  const payloads = [String.raw`{"a\":1,\"b":5}`, '{"a":1,"b":2}'];
  expect(mapped(integers, payloads, { dropUnknownFields: true })).toEqual([{ row: {} }, { row: { f1: "1", f2: "2" } }]);
});

test("a dropped key with an escaped control character does not make the bare one well-formed", () => {
  const payloads = [String.raw`{"x\ny":1}`, '{"x\ny":1}'];
  const results = mapped(integers, payloads, { dropUnknownFields: true });
  expect(results).toEqual([{ row: {} }, { refused: "MALFORMED_PAYLOAD " }]);
});

test("a dropped key with an escaped backslash is not taken for the escape that it looks like", () => {
  const payloads = [String.raw`{"x\\q":1}`, String.raw`{"x\q":1}`];
  const results = mapped(integers, payloads, { dropUnknownFields: true });
  expect(results).toEqual([{ row: {} }, { refused: "MALFORMED_PAYLOAD " }]);
});
