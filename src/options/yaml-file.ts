/** A YAML text as plain values, with the place of each, environment references filled in, and every fault in one list. */
import { type Document, LineCounter, isMap, isScalar, isSeq, parseDocument } from "yaml";
import type { Node } from "yaml";
import { type Environment, fillReferences, hasReference, hideReferences } from "./environment.ts";

export type Path = readonly (string | number)[];

/** Both count from 1. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

interface YamlFault {
  readonly path: Path;
  readonly message: string;
  readonly place: Place | undefined;
}

export interface YamlFile {
  /** Maps as objects, lists as arrays, scalars; undefined when the text is not YAML. */
  readonly value: unknown;
  readonly faults: readonly YamlFault[];
  /** Where the value at a path stands, or the nearest that is there. */
  placeOf(path: Path): Place | undefined;
}

/** A fault, with the offset in the text where it stands. */
interface FoundFault {
  readonly path: Path;
  readonly message: string;
  readonly offset: number | undefined;
}

/** Parses a text; never throws: what is wrong with it is in `faults`. */
export function readYaml(text: string, environment: Environment): YamlFile {
  const { text: visible, references } = hideReferences(text);
  const lines = new LineCounter();
  const document = parseDocument(visible, { lineCounter: lines, prettyErrors: false, logLevel: "error" });
  const placeAt = (offset: number | undefined): Place | undefined => {
    if (offset === undefined) return undefined;
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const found = [...syntaxFaults(document), ...fillReferencesOf(document, references, environment)];
  const { value, fault } = valueOf(document);
  if (fault) found.push(fault);
  return {
    value,
    faults: found.map(({ path, message, offset }) => ({ path, message, place: placeAt(offset) })),
    placeOf: (path) => placeAt(nearestNode(document, path)?.range?.[0]),
  };
}

function syntaxFaults(document: Document): FoundFault[] {
  return document.errors.map(({ code, message, pos }) => ({
    path: [],
    message: code === "MULTIPLE_DOCS" ? "holds several YAML documents: expected one" : notYaml(message),
    offset: pos[0],
  }));
}

/** Undefined, with the fault if that is a new one, when the text is not YAML. */
function valueOf(document: Document): { readonly value?: unknown; readonly fault?: FoundFault } {
  if (document.errors.length > 0) return {};
  try {
    return { value: document.toJS() };
  } catch (error) {
    // An alias without an anchor, or aliases of aliases that would fill the memory.
    return { fault: { path: [], message: notYaml((error as Error).message), offset: undefined } };
  }
}

/** Fills the references in where they stand. */
function fillReferencesOf(document: Document, references: readonly string[], environment: Environment): FoundFault[] {
  const faults: FoundFault[] = [];
  const fill = (node: unknown, path: Path): void => {
    if (isMap(node)) {
      for (const pair of node.items) {
        fill(pair.key, path);
        fill(pair.value, [...path, keyOf(pair.key)]);
      }
    } else if (isSeq(node)) {
      for (const [i, item] of node.items.entries()) fill(item, [...path, i]);
    } else if (isScalar(node) && typeof node.value === "string" && hasReference(node.value)) {
      const filled = fillReferences(node.value, references, environment);
      for (const message of filled.faults) faults.push({ path, message, offset: node.range?.[0] });
      node.value = node.type === "PLAIN" ? plainValue(filled.value) : filled.value;
    }
  };
  fill(document.contents, []);
  return faults;
}

/** What YAML makes of an unquoted scalar. */
export function plainValue(text: string): unknown {
  if (text === "" || text === "null" || text === "~") return null;
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function nearestNode(document: Document, path: Path): Node | undefined {
  let node: unknown = document.contents;
  let nearest: Node | undefined;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => keyOf(item.key) === String(step));
      if (!pair) break;
      nearest = pair.key as Node;
      node = pair.value;
    } else if (isSeq(node) && node.items[Number(step)]) {
      node = node.items[Number(step)];
      nearest = node as Node;
    } else break;
  }
  return nearest;
}

function keyOf(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

/** The first line of the parser's message, made part of a sentence. */
function notYaml(message: string): string {
  const [line = ""] = message.split("\n");
  return `is no valid YAML: ${line.charAt(0).toLowerCase()}${line.slice(1).replace(/[.:]$/, "")}`;
}
