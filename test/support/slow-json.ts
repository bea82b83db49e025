/**
 * JSON for the slow path: `JSON.parse` says what is JSON and what every text and number is; a plain scan over the
 * accepted text adds what `JSON.parse` loses: the order of members, keys that come twice, the source text of values.
 */
import { Refused } from "./slow-refused.ts";

export type JsonNode =
  | { readonly kind: "object"; readonly source: string; readonly members: readonly Member[] }
  | { readonly kind: "array"; readonly source: string; readonly elements: readonly JsonNode[] }
  | { readonly kind: "text"; readonly source: string; readonly value: string }
  | { readonly kind: "number" | "boolean" | "null"; readonly source: string };

export type ObjectNode = Extract<JsonNode, { kind: "object" }>;

export interface Member {
  readonly name: string;
  readonly value: JsonNode;
}

/** Levels of objects and arrays that a payload may have. */
export const maxPayloadDepth = 1000;

/** Reads a payload: valid UTF-8 without a byte-order mark, strict JSON, an object. `undefined` when it is malformed. */
export function readPayload(payload: Uint8Array): ObjectNode | undefined {
  const text = decodeUtf8(payload);
  const root = text === undefined ? undefined : readJson(text);
  return root?.kind === "object" && depthOf(root) <= maxPayloadDepth ? root : undefined;
}

/** The text of valid UTF-8; a byte-order mark stays what it is, the character U+FEFF. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Reads one JSON value with nothing but blanks around it; `undefined` when `text` is none or has a lone surrogate. */
export function readJson(text: string): JsonNode | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const scan = new Scan(text);
  const node = scan.value();
  return scan.wellFormed ? node : undefined;
}

/** Levels of objects and arrays: 0 for a scalar, 1 for `[]`. */
export function depthOf(root: JsonNode): number {
  let depth = 0;
  let level: readonly JsonNode[] = [root];
  for (;;) {
    level = level.filter((node) => node.kind === "object" || node.kind === "array");
    if (level.length === 0) return depth;
    depth++;
    level = level.flatMap(childrenOf);
  }
}

function childrenOf(node: JsonNode): readonly JsonNode[] {
  if (node.kind === "object") return node.members.map((member) => member.value);
  return node.kind === "array" ? node.elements : [];
}

/** Refuses a key that comes twice, where nothing is written. */
export function checkKeys(node: JsonNode, path: string): void {
  if (node.kind === "array") for (const [i, element] of node.elements.entries()) checkKeys(element, `${path}[${i}]`);
  if (node.kind !== "object") return;
  const seen = new Set<string>();
  for (const { name, value } of node.members) {
    const own = memberPath(path, name);
    if (seen.has(name)) throw new Refused("DUPLICATE_FIELD", own);
    seen.add(name);
    checkKeys(value, own);
  }
}

/** The path of a member of the object at `parent`, which is empty at the top. */
export function memberPath(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}

/** A path within the value at `outer`: `a` and `b.c` → `a.b.c`; `a` and `[0]` → `a[0]`. */
export function joinPaths(outer: string, inner: string): string {
  return outer === "" || inner === "" || inner.startsWith("[") ? outer + inner : `${outer}.${inner}`;
}

/** A punctuation mark, a text, or a word (number, true, false, null), after blanks. Fit for text that is known to be JSON. */
const token = /[ \t\r\n]*([{}[\],:]|"(?:[^"\\]+|\\.)*"|[^ \t\r\n{}[\],:"]+)/y;

/** An object or array whose end has not come yet. */
interface Open {
  readonly start: number;
  readonly members: Member[] | undefined;
  readonly elements: JsonNode[];
  name: string | undefined;
}

/** One pass over text that `JSON.parse` has accepted. Keeps its own stack, since hostile text nests deep. */
class Scan {
  readonly #text: string;
  #position = 0;
  /** No key and no text had a surrogate without its other half. */
  wellFormed = true;

  constructor(text: string) {
    this.#text = text;
  }

  value(): JsonNode {
    const open: Open[] = [];
    for (;;) {
      const word = this.#next();
      const parent = open.at(-1);
      if (word === "{" || word === "[") {
        open.push({ start: this.#position - 1, members: word === "{" ? [] : undefined, elements: [], name: undefined });
      } else if (parent?.members && parent.name === undefined && word !== "}") {
        if (word !== ",") {
          parent.name = this.#string(word);
          this.#next();
        }
      } else if (word !== ",") {
        const node = word === "}" || word === "]" ? this.#close(open.pop()!) : this.#leaf(word);
        const holder = open.at(-1);
        if (!holder) return node;
        place(node, holder);
      }
    }
  }

  #next(): string {
    token.lastIndex = this.#position;
    const word = token.exec(this.#text)![1]!;
    this.#position = token.lastIndex;
    return word;
  }

  #close(part: Open): JsonNode {
    const source = this.#text.slice(part.start, this.#position);
    if (part.members) return { kind: "object", source, members: part.members };
    return { kind: "array", source, elements: part.elements };
  }

  #leaf(word: string): JsonNode {
    if (word.startsWith('"')) return { kind: "text", source: word, value: this.#string(word) };
    if (word === "null") return { kind: "null", source: word };
    if (word === "true" || word === "false") return { kind: "boolean", source: word };
    return { kind: "number", source: numberSource(word) };
  }

  #string(source: string): string {
    const value = JSON.parse(source) as string;
    this.wellFormed &&= value.isWellFormed();
    return value;
  }
}

function place(node: JsonNode, holder: Open): void {
  if (!holder.members) {
    holder.elements.push(node);
    return;
  }
  holder.members.push({ name: holder.name!, value: node });
  holder.name = undefined;
}

type Reviver = (key: string, value: unknown, context: { readonly source: string }) => unknown;

/** A number as it is written, from the hand of `JSON.parse` itself. */
function numberSource(word: string): string {
  const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
  return parse(word, (_key, _value, context) => context.source) as string;
}
