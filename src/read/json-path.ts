/** Where in a payload a fault is, as a person writes it: `items[2].price`. Found by a second walk, only when there is a fault. */
import { closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from "./ascii.ts";
import type { JsonReader } from "./json-reader.ts";

/** One level on the way: a member, by the range of its key's characters, or an element, by its index. */
type Step = { start: number; close: number } | { index: number };

/**
 * The path of the value, or of the key, that begins at `offset`. Keys are spelled as in the message, escapes resolved.
 *
 * @param reader has a payload that is known to be well-formed
 * @param start  where the payload begins
 */
export function pathOf(reader: JsonReader, start: number, offset: number): string {
  const steps: Step[] = [];
  let at = start;
  while (at < offset) {
    const character = reader.peek(at);
    const inner = steps.at(-1);
    if (character === openBracket) steps.push({ index: 0 });
    else if (character === openBrace) steps.push({ start: 0, close: 0 });
    else if (character === closeBracket || character === closeBrace) steps.pop();
    else if (character === comma && inner && "index" in inner) inner.index++;
    at = character === quote ? textAt(reader, at, inner) : at + 1;
  }
  const last = steps.at(-1);
  if (reader.peek(offset) === quote && last) textAt(reader, offset, last);
  return render(reader, steps);
}

/** Steps over a text. When it is a key, it names the member from now on. */
function textAt(reader: JsonReader, at: number, step: Step | undefined): number {
  const close = reader.scanText(at + 1);
  const isKey = reader.peek(reader.skipBlanks(close + 1)) === colon;
  if (isKey && step && "start" in step) {
    step.start = at + 1;
    step.close = close;
  }
  return close + 1;
}

function render(reader: JsonReader, steps: readonly Step[]): string {
  let path = "";
  for (const step of steps) {
    if ("index" in step) path += `[${step.index}]`;
    else if (step.start > 0) path += (path === "" ? "" : ".") + keyText(reader, step.start, step.close);
  }
  return path;
}

/** The characters of a key or text, escapes resolved. */
export function keyText(reader: JsonReader, start: number, close: number): string {
  const length = reader.resolve(start, close);
  return reader.scratch.toString("utf8", 0, length);
}
