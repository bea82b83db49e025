import { expect, test } from "vitest";
import { leaveOutAll, packAttributes } from "../../../src/dead-letter/packed-attributes.ts";

const pack = (attributes: Readonly<Record<string, string>>, room = 90): Record<string, string> =>
  Object.fromEntries(packAttributes(new Map(Object.entries(attributes)), room));

/** All attributes that JSON objects among these values carry. */
function unpack(packed: Readonly<Record<string, string>>): Record<string, string> {
  const objects = Object.entries(packed).filter(([key]) => /^millrace_attributes_\d+$/.test(key));
  return Object.assign({}, ...objects.map(([, json]) => JSON.parse(json) as object)) as Record<string, string>;
}

test("a few attributes become one", () => {
  expect(pack({ tenant: "t9", quote: 'a"b', größe: "😀", leer: "" })).toEqual({
    millrace_attributes_1: '{"tenant":"t9","quote":"a\\"b","größe":"😀","leer":""}',
  });
});

test("a hundred become as many as they need, none above 1,024 bytes, and nothing is lost", () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`key-${i}`, "ä".repeat(i)]));
  const packed = pack(many);
  // Members take "key-NN":"…", with commas: 100 × (7 to 11) + 2 × 4,950 bytes, in objects of at most 1,024.
  expect(Object.keys(packed).length).toBeGreaterThanOrEqual(11);
  expect(Object.keys(packed).length).toBeLessThanOrEqual(14);
  for (const value of Object.values(packed)) expect(Buffer.byteLength(value)).toBeLessThanOrEqual(1024);
  expect(unpack(packed)).toEqual(many);
});

test("an object of 1,024 bytes is filled to the last, one byte more begins another", () => {
  // {"a":"…","b":"…"} has 15 bytes beside the two values.
  expect(Object.keys(pack({ a: "x".repeat(500), b: "y".repeat(509) }))).toHaveLength(1);
  expect(Object.keys(pack({ a: "x".repeat(500), b: "y".repeat(510) }))).toHaveLength(2);
});

test("one that no object takes stays as it is, and keeps its name", () => {
  const large = { millrace_attributes_1: "x".repeat(1024), small: "s" };
  expect(pack(large)).toEqual({ millrace_attributes_2: '{"small":"s"}', millrace_attributes_1: "x".repeat(1024) });
});

test("what there is no room for is left out and named", () => {
  const large = Object.fromEntries(["a", "b", "c", "d"].map((key) => [key, key.repeat(1020)]));
  expect(pack(large, 4)).toEqual(large);
  expect(pack(large, 3)).toEqual({ a: large["a"], b: large["b"], millrace_attributes_left_out: "2: c, d" });
});

test("what a topic takes in no form is left out and named", () => {
  expect(pack({ a: "1", googlarge: "x".repeat(1024), b: "y".repeat(2000) })).toEqual({
    millrace_attributes_1: '{"a":"1"}',
    millrace_attributes_left_out: "2: googlarge, b",
  });
});

test("as the last resort all are left out and named", () => {
  const named = leaveOutAll(
    new Map([
      ["tenant", "t9"],
      ["trace", "00-1"],
    ]),
  );
  expect(Object.fromEntries(named)).toEqual({ millrace_attributes_left_out: "2: tenant, trace" });
  expect(leaveOutAll(new Map()).size).toBe(0);
});
