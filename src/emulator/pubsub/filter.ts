/**
 * The filter language of subscriptions (FILTER-01, -02), as Google documents it:
 *
 *     filter := term { "AND" term } | term { "OR" term }
 *     term   := [ "NOT" | "-" ] ( "(" filter ")" | has | compare | prefix )
 *     has    := "attributes" ":" key
 *     compare := "attributes." key ( "=" | "!=" ) text
 *     prefix := "hasPrefix" "(" "attributes." key "," text ")"
 *     key    := letters, digits, "_" and "-", or a text
 *
 * Texts stand in double quotes and are compared exactly. `!=` is the opposite of `=`: it also holds without the key.
 */
import { invalidArgument } from "../rpc-error.ts";
import { FilterText } from "./filter-text.ts";

/** Whether a message with these attributes is delivered. */
export type Filter = (attributes: ReadonlyMap<string, string>) => boolean;

const maxFilterBytes = 256;

/** @throws RpcError INVALID_ARGUMENT naming the position of what is wrong, or when the text is longer than 256 bytes */
export function parseFilter(text: string): Filter {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxFilterBytes) {
    throw invalidArgument(`The filter has ${bytes} bytes; at most ${maxFilterBytes} are taken`);
  }
  const rest = new FilterText(text);
  const filter = readFilter(rest);
  if (!rest.atEnd) throw rest.expected("AND, OR or the end");
  return filter;
}

function readFilter(rest: FilterText): Filter {
  const terms = [readTerm(rest)];
  const operator = rest.word("AND") ? "AND" : "OR";
  if (operator === "AND") terms.push(readTerm(rest));
  while (rest.word(operator)) terms.push(readTerm(rest));
  if (rest.comes(operator === "AND" ? "OR" : "AND")) {
    throw rest.refused("AND and OR stand side by side: parentheses must say which goes first");
  }
  if (terms.length === 1) return terms[0]!;
  return operator === "AND"
    ? (attributes) => terms.every((term) => term(attributes))
    : (attributes) => terms.some((term) => term(attributes));
}

function readTerm(rest: FilterText): Filter {
  if (!rest.word("NOT") && !rest.sign("-")) return readOperand(rest);
  const operand = readOperand(rest);
  return (attributes) => !operand(attributes);
}

function readOperand(rest: FilterText): Filter {
  if (rest.sign("(")) {
    const filter = readFilter(rest);
    rest.expectSign(")");
    return filter;
  }
  if (rest.word("hasPrefix")) return readPrefix(rest);
  if (!rest.word("attributes")) throw rest.expected("attributes, hasPrefix, NOT or (");
  if (rest.sign(":")) {
    const key = rest.key();
    return (attributes) => attributes.has(key);
  }
  rest.expectSign(".");
  return readComparison(rest, rest.key());
}

function readComparison(rest: FilterText, key: string): Filter {
  const negated = rest.sign("!=");
  if (!negated && !rest.sign("=")) throw rest.expected("= or !=");
  const text = rest.string();
  return negated ? (attributes) => attributes.get(key) !== text : (attributes) => attributes.get(key) === text;
}

function readPrefix(rest: FilterText): Filter {
  rest.expectSign("(");
  if (!rest.word("attributes")) throw rest.expected("attributes.KEY");
  rest.expectSign(".");
  const key = rest.key();
  rest.expectSign(",");
  const text = rest.string();
  rest.expectSign(")");
  return (attributes) => attributes.get(key)?.startsWith(text) ?? false;
}
