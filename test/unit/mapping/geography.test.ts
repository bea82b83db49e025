import { describe, expect, test } from "vitest";
import { column, outcome, readBack } from "../../support/convert.ts";

const geography = column("GEOGRAPHY");

function read(json: string): string {
  const wire = outcome(json, geography);
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "string") : wire;
}

const deepWkt = (levels: number): string => `${"GEOMETRYCOLLECTION(".repeat(levels)}POINT(1 2)${")".repeat(levels)}`;

describe("WKT", () => {
  test.each([
    "POINT(1 2)",
    "point ( -1.5e1\t+.5 )",
    "POINT EMPTY",
    "LINESTRING(1 1, 2 1, 3.1 2.88, 3 -3)",
    "POLYGON((0 0, 0 1, 1 1, 0 0), (0.1 0.1, 0.2 0.2, 0.1 0.2, 0.1 0.1))",
    "MULTIPOINT(1 2, 3 4)",
    "MULTIPOINT((1 2), (3 4))",
    "MULTILINESTRING((0 0, 1 1), (2 2, 3 3))",
    "MULTIPOLYGON(((0 0, 0 1, 1 1, 0 0)), ((5 5, 5 6, 6 6, 5 5)))",
    "GEOMETRYCOLLECTION(POINT(1 2), GEOMETRYCOLLECTION(LINESTRING(1 2, 3 4), POLYGON EMPTY))",
    "  POINT(1 2)\n",
    "POINT(720 -90)",
    deepWkt(500),
  ])("passes on %.60s", (text) => expect(read(JSON.stringify(text))).toBe(text));

  test.each([
    "",
    "abc",
    "POINT",
    "POINT()",
    "POINT(1)",
    "POINT(1 2 3)",
    "POINT(1 2",
    "POINT(1 2))",
    "POINT(1,2)",
    "POINT(1.5.5)",
    "POINT(1-2)",
    "POINT(1 2e)",
    "POINT(0x1 2)",
    "POINT(NaN 2)",
    "POINT Z(1 2 3)",
    "POINTZ(1 2 3)",
    "POINT EMPTYX",
    "LINESTRING(1 2, )",
    "LINESTRING((1 2))",
    "POLYGON(1 2, 3 4)",
    "MULTIPOINT((1 2), 3 4, )",
    "MULTIPOLYGON((0 0, 1 1))",
    "GEOMETRYCOLLECTION(1 2)",
    "GEOMETRYCOLLECTION()",
    "SRID=4326;POINT(1 2)",
    "CIRCLE(1 2)",
    "POINT(1 2) POINT(1 2)",
    deepWkt(501),
  ])("refuses %.60j", (text) => expect(read(JSON.stringify(text))).toBe("TYPE_MISMATCH"));

  test.each(["POINT(0 90.0001)", "LINESTRING(0 0, 0 -91)", "POINT(1e999 0)", "MULTIPOINT((0 0), (0 91))"])(
    "refuses the position in %s",
    (text) => expect(read(JSON.stringify(text))).toBe("OUT_OF_RANGE"),
  );

  test("a hostile nesting is refused, not followed", () => {
    expect(read(JSON.stringify("GEOMETRYCOLLECTION(".repeat(200_000)))).toBe("TYPE_MISMATCH");
  });
});

describe("GeoJSON, as an object and as text", () => {
  const point = '{"type":"Point","coordinates":[1,2]}';

  test.each([
    point,
    ' { "coordinates" : [ 1.50 , -9e1 ] , "type" : "Point" , "bbox" : [0] } ',
    '{"type":"LineString","coordinates":[[1,2],[3,4]]}',
    '{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[0,0]]]}',
    '{"type":"MultiPoint","coordinates":[]}',
    '{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[]]}',
    '{"type":"MultiPolygon","coordinates":[[[[0,0],[0,1],[1,1],[0,0]]]]}',
    `{"type":"GeometryCollection","geometries":[${point},{"type":"GeometryCollection","geometries":[]}]}`,
  ])("passes on %s", (json) => {
    expect(read(json)).toBe(json);
    expect(read(JSON.stringify(json))).toBe(json);
  });

  test.each([
    "{}",
    '{"type":"Point"}',
    '{"type":"point","coordinates":[1,2]}',
    '{"type":"Point","coordinates":[1]}',
    // BigQuery takes two coordinates a position, no altitude.
    '{"type":"Point","coordinates":[1,2,3]}',
    '{"type":"Point","coordinates":["1",2]}',
    '{"type":"Point","coordinates":[[1,2]]}',
    '{"type":"LineString","coordinates":[1,2]}',
    '{"type":"Polygon","coordinates":[[1,2]]}',
    '{"type":"Point","coordinates":null}',
    '{"type":"GeometryCollection","coordinates":[]}',
    `{"type":"GeometryCollection","geometries":[${point},null]}`,
    `{"type":"Feature","geometry":${point}}`,
    `{"type":"constructor","coordinates":[1,2]}`,
  ])("refuses %s", (json) => {
    expect(read(json)).toBe("TYPE_MISMATCH");
    expect(read(JSON.stringify(json))).toBe("TYPE_MISMATCH");
  });

  test.each([['{"type":"Point","coordinates":[1,2],}'], ["{"], ['{"type":"Point","coordinates":[01,2]}']])(
    "refuses text that is no JSON: %s",
    (text) => expect(read(JSON.stringify(text))).toBe("TYPE_MISMATCH"),
  );

  test.each(['{"type":"Point","coordinates":[1,90.5]}', '{"type":"Point","coordinates":[1e999,0]}'])(
    "refuses the position in %s",
    (json) => expect(read(json)).toBe("OUT_OF_RANGE"),
  );
});

test("a coordinate of a million digits that ends in a letter is refused in linear time", () => {
  expect(read(JSON.stringify(`POINT(${"1".repeat(1_000_000)}x 2)`))).toBe("TYPE_MISMATCH");
  expect(read(JSON.stringify(`POINT(0.${"1".repeat(1_000_000)}x 2)`))).toBe("TYPE_MISMATCH");
});
