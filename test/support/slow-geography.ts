/** GEOGRAPHY of the slow path: a check of WKT and GeoJSON, syntax and coordinates. The text itself is passed on. */
import { readJson } from "./slow-json.ts";
import type { JsonNode } from "./slow-json.ts";
import { Refused } from "./slow-refused.ts";

/** How deep lists nest around the positions of each type: 0 is one position. */
const listDepth: Readonly<Record<string, number>> = {
  point: 0,
  linestring: 1,
  multipoint: 1,
  polygon: 2,
  multilinestring: 2,
  multipolygon: 3,
};

const geoJsonTypes = new Set([
  "Point",
  "LineString",
  "MultiPoint",
  "Polygon",
  "MultiLineString",
  "MultiPolygon",
  "GeometryCollection",
]);

export function checkGeographyText(text: string): void {
  if (!/^[ \t\r\n]*\{/.test(text)) {
    new Wkt(text).check();
    return;
  }
  const node = readJson(text);
  if (!node) throw new Refused("TYPE_MISMATCH");
  checkGeoJson(node);
}

/** A GeoJSON geometry: an object of `type` and `coordinates` or `geometries`. */
export function checkGeoJson(node: JsonNode): void {
  if (node.kind !== "object") throw new Refused("TYPE_MISMATCH");
  const members = new Map(node.members.map(({ name, value }) => [name, value]));
  const type = members.get("type");
  if (type?.kind !== "text" || !geoJsonTypes.has(type.value)) throw new Refused("TYPE_MISMATCH");
  if (type.value === "GeometryCollection") {
    for (const geometry of arrayOf(members.get("geometries"))) checkGeoJson(geometry);
  } else {
    checkCoordinates(members.get("coordinates"), listDepth[type.value.toLowerCase()]!);
  }
}

function checkCoordinates(node: JsonNode | undefined, depth: number): void {
  const elements = arrayOf(node);
  if (depth > 0) {
    for (const element of elements) checkCoordinates(element, depth - 1);
    return;
  }
  if (elements.some((element) => element.kind !== "number")) throw new Refused("TYPE_MISMATCH");
  if (elements.length !== 2) throw new Refused("TYPE_MISMATCH");
  checkPosition(elements.map((element) => Number(element.source)));
}

function arrayOf(node: JsonNode | undefined): readonly JsonNode[] {
  if (node?.kind !== "array") throw new Refused("TYPE_MISMATCH");
  return node.elements;
}

function checkPosition([longitude, latitude]: readonly number[]): void {
  if (!Number.isFinite(longitude)) throw new Refused("OUT_OF_RANGE");
  if (Math.abs(latitude!) > 90) throw new Refused("OUT_OF_RANGE");
}

/** Well-known text, read word by word. */
class Wkt {
  readonly #words: readonly string[];
  #next = 0;

  constructor(text: string) {
    const pattern = /[ \t\r\n]*([(),]|[^ \t\r\n(),]+)[ \t\r\n]*/y;
    const words: string[] = [];
    while (pattern.lastIndex < text.length) {
      const found = pattern.exec(text);
      if (!found) throw new Refused("TYPE_MISMATCH");
      words.push(found[1]!);
    }
    this.#words = words;
  }

  check(): void {
    this.#geometry();
    if (this.#next !== this.#words.length) throw new Refused("TYPE_MISMATCH");
  }

  #geometry(): void {
    const type = this.#take().toLowerCase();
    if (type !== "geometrycollection" && !Object.hasOwn(listDepth, type)) throw new Refused("TYPE_MISMATCH");
    if (this.#peek()?.toLowerCase() === "empty") this.#next++;
    else if (type === "geometrycollection") this.#list(() => this.#geometry());
    else if (type === "multipoint") this.#list(() => this.#point());
    else if (type === "point") this.#parenthesized(() => this.#position());
    else this.#positions(listDepth[type]!);
  }

  #positions(depth: number): void {
    this.#list(() => (depth === 1 ? this.#position() : this.#positions(depth - 1)));
  }

  /** Of a MULTIPOINT: with parentheses of its own or without. */
  #point(): void {
    if (this.#peek() === "(") this.#parenthesized(() => this.#position());
    else this.#position();
  }

  #position(): void {
    checkPosition([this.#number(), this.#number()]);
  }

  #number(): number {
    const word = this.#take();
    if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(word)) throw new Refused("TYPE_MISMATCH");
    return Number(word);
  }

  #list(item: () => void): void {
    this.#parenthesized(() => {
      item();
      while (this.#peek() === ",") {
        this.#next++;
        item();
      }
    });
  }

  #parenthesized(content: () => void): void {
    this.#expect("(");
    content();
    this.#expect(")");
  }

  #expect(word: string): void {
    if (this.#take() !== word) throw new Refused("TYPE_MISMATCH");
  }

  #peek(): string | undefined {
    return this.#words[this.#next];
  }

  #take(): string {
    const word = this.#words[this.#next++];
    if (word === undefined) throw new Refused("TYPE_MISMATCH");
    return word;
  }
}
