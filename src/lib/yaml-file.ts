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

export interface YamlFault {
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

export function readYaml(text: string, environment: Environment): YamlFile {
  const { text: visible, references } = hideReferences(text);
  const lines = new LineCounter();
  const document = parseDocument(visible, { lineCounter: lines, prettyErrors: false });
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const faults: YamlFault[] = document.errors.map((error) => ({
    path: [],
    message: `is no valid YAML: ${sentence(error.message)}`,
    place: place(error.pos[0]),
  }));
  for (const fault of fillDocument(document, references, environment)) {
    faults.push({
      path: fault.path,
      message: fault.message,
      place: fault.node.range ? place(fault.node.range[0]) : undefined,
    });
  }
  return {
    value: document.errors.length > 0 ? undefined : document.toJS(),
    faults,
    placeOf(path) {
      const node = nearestNode(document, path);
      return node?.range ? place(node.range[0]) : undefined;
    },
  };
}

interface ReferenceFault {
  readonly path: Path;
  readonly node: Node;
  readonly message: string;
}

function fillDocument(document: Document, references: readonly string[], environment: Environment): ReferenceFault[] {
  const faults: ReferenceFault[] = [];
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
      for (const message of filled.faults) faults.push({ path, node, message });
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

/** The first line of the parser's message, with a small letter and no full stop. */
function sentence(message: string): string {
  const [line = ""] = message.split("\n");
  return line.charAt(0).toLowerCase() + line.slice(1).replace(/[.:]$/, "");
}
