/**
 * GEOGRAPHY: WKT or GeoJSON is passed on as it is, after a check of its syntax and of its coordinates.
 *
 * As BigQuery has it, positions have two numbers and no more, and longitudes may go around the globe.
 */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";

/** Collections may hold collections, but no deeper than this. */
const maxDepth = 500;

/** How deep lists nest around the positions of each type: 0 is one position. */
const listDepths: Readonly<Record<string, number>> = {
  Point: 0,
  LineString: 1,
  MultiPoint: 1,
  Polygon: 2,
  MultiLineString: 2,
  MultiPolygon: 3,
};

const typesByWktName = new Map(Object.keys(listDepths).map((type) => [type.toUpperCase(), type]));

const notGeography: Fault = {
  code: "TYPE_MISMATCH",
  message:
    "GEOGRAPHY takes WKT such as POINT(1 2), or a GeoJSON geometry, of two coordinates a position; got another value",
};
const beyondGlobe: Fault = {
  code: "OUT_OF_RANGE",
  message: "GEOGRAPHY takes latitudes of -90 to 90 and finite longitudes; got a position beyond",
};

/** JSON text → GEOGRAPHY: WKT, or the text of a GeoJSON geometry. */
export const geographyFromText: Convert = (bytes, start, end, out) => {
  const text = bytes.toString("utf8", start, end);
  const fault = /^[ \t\r\n]*\{/.test(text) ? geoJsonFault(text) : wktFault(text);
  if (fault === undefined) out.lengthDelimited(bytes, start, end);
  return fault;
};

/** JSON object → GEOGRAPHY: a GeoJSON geometry; its source text is passed on. */
export const geographyFromObject: Convert = (bytes, start, end, out) => {
  const fault = geoJsonFault(bytes.toString("utf8", start, end));
  if (fault === undefined) out.lengthDelimited(bytes, start, end);
  return fault;
};

function geoJsonFault(text: string): Fault | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return notGeography;
  }
  return geometryFault(json, 0);
}

function geometryFault(json: unknown, depth: number): Fault | undefined {
  if (typeof json !== "object" || json === null || Array.isArray(json) || depth > maxDepth) return notGeography;
  const { type, coordinates, geometries } = json as Readonly<Record<string, unknown>>;
  if (type === "GeometryCollection") {
    return Array.isArray(geometries) ? firstFault(geometries, (part) => geometryFault(part, depth + 1)) : notGeography;
  }
  if (typeof type !== "string" || !Object.hasOwn(listDepths, type)) return notGeography;
  return coordinatesFault(coordinates, listDepths[type]!);
}

function coordinatesFault(json: unknown, depth: number): Fault | undefined {
  if (!Array.isArray(json)) return notGeography;
  if (depth > 0) return firstFault(json, (part) => coordinatesFault(part, depth - 1));
  const [longitude, latitude] = json as unknown[];
  if (json.length !== 2 || typeof longitude !== "number" || typeof latitude !== "number") return notGeography;
  return positionFault(longitude, latitude);
}

function firstFault(parts: readonly unknown[], faultOf: (part: unknown) => Fault | undefined): Fault | undefined {
  for (const part of parts) {
    const fault = faultOf(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function positionFault(longitude: number, latitude: number): Fault | undefined {
  return Number.isFinite(longitude) && Math.abs(latitude) <= 90 ? undefined : beyondGlobe;
}

function wktFault(text: string): Fault | undefined {
  const reader = new WktReader(text);
  return reader.geometry(0) ?? reader.end();
}

/**
 * A word, a number or a mark; what follows a word or a number directly must be a blank or a mark. No two parts of it can share the same
 * digits out between them, or long numbers would take quadratic time.
 */
const wktToken =
  /[ \t\r\n]*(?:([A-Za-z]+)(?![^ \t\r\n(),])|([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![^ \t\r\n(),])|([(),]))/y;
const blanks = /[ \t\r\n]*$/y;

/** Well-known text, token by token. Every method reads one piece of the grammar and returns what is wrong with it. */
class WktReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  geometry(depth: number): Fault | undefined {
    if (depth > maxDepth) return notGeography;
    const name = this.#take(1)?.toUpperCase() ?? "";
    const type = typesByWktName.get(name);
    if (type === undefined && name !== "GEOMETRYCOLLECTION") return notGeography;
    if (this.#peek(1)?.toUpperCase() === "EMPTY") {
      this.#take(1);
      return undefined;
    }
    if (type === undefined) return this.#list(() => this.geometry(depth + 1));
    if (type === "Point") return this.#enclosed(() => this.#position());
    if (type === "MultiPoint") return this.#list(() => this.#point());
    return this.#nested(listDepths[type]!);
  }

  end(): Fault | undefined {
    blanks.lastIndex = this.#at;
    return blanks.test(this.#text) ? undefined : notGeography;
  }

  #nested(depth: number): Fault | undefined {
    return this.#list(() => (depth === 1 ? this.#position() : this.#nested(depth - 1)));
  }

  /** Of a MULTIPOINT: in parentheses of its own or without. */
  #point(): Fault | undefined {
    return this.#peek(3) === "(" ? this.#enclosed(() => this.#position()) : this.#position();
  }

  #position(): Fault | undefined {
    const longitude = this.#take(2);
    const latitude = this.#take(2);
    if (longitude === undefined || latitude === undefined) return notGeography;
    return positionFault(Number(longitude), Number(latitude));
  }

  #list(item: () => Fault | undefined): Fault | undefined {
    return this.#enclosed(() => {
      let fault = item();
      while (fault === undefined && this.#peek(3) === ",") {
        this.#take(3);
        fault = item();
      }
      return fault;
    });
  }

  #enclosed(content: () => Fault | undefined): Fault | undefined {
    if (this.#take(3) !== "(") return notGeography;
    return content() ?? (this.#take(3) === ")" ? undefined : notGeography);
  }

  /** The next token if it is of the kind: 1 a word, 2 a number, 3 a mark. It is passed over. */
  #take(kind: 1 | 2 | 3): string | undefined {
    const token = this.#peek(kind);
    if (token !== undefined) this.#at = wktToken.lastIndex;
    return token;
  }

  #peek(kind: 1 | 2 | 3): string | undefined {
    wktToken.lastIndex = this.#at;
    return wktToken.exec(this.#text)?.[kind];
  }
}
