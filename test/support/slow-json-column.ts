/** JSON columns of the slow path: the source text, unless BigQuery would change it in silence. */
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import { Big } from "big.js";
import { joinPaths, memberPath, readJson } from "./slow-json.ts";
import type { JsonNode } from "./slow-json.ts";
import { Refused } from "./slow-refused.ts";

/** Levels of objects and arrays that a JSON column keeps. */
const maxDepth = 500;

const smallestInteger = -(2n ** 63n);
const largestInteger = 2n ** 64n - 1n;

/** A JSON text is itself JSON text, everything else is passed on as it is written. */
export function jsonCell(node: JsonNode, path: string, options: MappingOptions): string {
  if (node.kind !== "text") {
    checkKept(node, options, path);
    return node.source;
  }
  const inner = readJson(node.value);
  if (!inner) throw new Refused("TYPE_MISMATCH", path);
  try {
    checkKept(inner, options);
  } catch (error) {
    throw error instanceof Refused ? new Refused(error.code, joinPaths(path, error.path)) : error;
  }
  return node.value;
}

/** Refuses what BigQuery would change, in the order of the text. */
export function checkKept(node: JsonNode, options: MappingOptions, path = "", depth = 0): void {
  if (node.kind === "number") checkNumber(node.source, options, path);
  if (node.kind !== "array" && node.kind !== "object") return;
  if (depth === maxDepth) throw new Refused("OUT_OF_RANGE", path);
  if (node.kind === "object") checkMembers(node, options, path, depth + 1);
  else for (const [i, element] of node.elements.entries()) checkKept(element, options, `${path}[${i}]`, depth + 1);
}

function checkMembers(node: JsonNode & { kind: "object" }, options: MappingOptions, path: string, depth: number): void {
  const seen = new Set<string>();
  for (const { name, value } of node.members) {
    const own = memberPath(path, name);
    if (seen.has(name)) throw new Refused("DUPLICATE_FIELD", own);
    seen.add(name);
    checkKept(value, options, own, depth);
  }
}

function checkNumber(source: string, options: MappingOptions, path: string): void {
  const double = Number(source);
  if (!Number.isFinite(double)) throw new Refused("OUT_OF_RANGE", path);
  if (!isKept(source, double) && options.onPrecisionLoss === "reject") throw new Refused("PRECISION_LOSS", path);
}

/** An integer of the range that BigQuery keeps, or a number that its double gives back. */
function isKept(source: string, double: number): boolean {
  if (!/^-?\d+$/.test(source)) return new Big(source).eq(new Big(String(double)));
  const integer = BigInt(source);
  return integer >= smallestInteger && integer <= largestInteger;
}
