import { expect, test } from "vitest";
import { checkedGeography } from "../../../../src/emulator/bigquery/geography.ts";

test.each([
  "POINT(-122.35 47.62)",
  "point EMPTY",
  "POLYGON((0 0, 1 0, 1 1, 0 0))",
  "GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 1 1))",
  '{"type":"Point","coordinates":[1,2]}',
  '{"type":"GeometryCollection","geometries":[]}',
])("%s has a form of GEOGRAPHY", (text) => {
  expect(checkedGeography(text)).toBe(text);
});

test.each(["", "hello", "POINT(1 2", "POINT)1 2(", "CIRCLE(1 2)", '{"type":"Point"}', '{"type":"Feature"}', "{"])(
  "%j has none",
  (text) => {
    expect(() => checkedGeography(text)).toThrow("no GEOGRAPHY");
  },
);
