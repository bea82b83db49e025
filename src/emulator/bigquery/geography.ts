/** GEOGRAPHY texts: whether they have the outer form of WKT or GeoJSON. Their geometry is stored as text and not computed with. */
import { InvalidValue } from "./cell.ts";

const wktForm =
  /^\s*(?:SRID=4326;)?\s*(?:POINT|LINESTRING|POLYGON|MULTIPOINT|MULTILINESTRING|MULTIPOLYGON|GEOMETRYCOLLECTION|FULLGLOBE)\s*(?:EMPTY|\(.*\))?\s*$/is;

const geoJsonTypes = new Set([
  "Point",
  "LineString",
  "Polygon",
  "MultiPoint",
  "MultiLineString",
  "MultiPolygon",
  "GeometryCollection",
]);

/** @throws InvalidValue */
export function checkedGeography(text: string): string {
  const isGeography = text.trimStart().startsWith("{") ? isGeoJson(text) : wktForm.test(text) && isBalanced(text);
  if (!isGeography) throw new InvalidValue("Text is no GEOGRAPHY value: neither WKT nor a GeoJSON geometry");
  return text;
}

function isGeoJson(text: string): boolean {
  try {
    const geometry = JSON.parse(text) as { type?: unknown; coordinates?: unknown; geometries?: unknown };
    if (!geoJsonTypes.has(String(geometry.type))) return false;
    return Array.isArray(geometry.type === "GeometryCollection" ? geometry.geometries : geometry.coordinates);
  } catch {
    return false;
  }
}

function isBalanced(text: string): boolean {
  let depth = 0;
  for (const character of text) {
    if (character === "(") depth++;
    if (character === ")" && --depth < 0) return false;
  }
  return depth === 0;
}
