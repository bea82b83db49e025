/** JSON columns: the text must be a JSON value that BigQuery can hold. */
import { InvalidValue } from "./cell.ts";

const maxLevels = 500;

/** Texts without any of these need no second look: an escape, a large exponent, or so many digits that a double ends. */
const suspicious = /\\u|[eE]\+?\d{3}|\d{309}/;

/** @throws InvalidValue */
export function checkedJson(text: string): string {
  const value = parse(text);
  // A text cannot be nested deeper than it has characters.
  if (text.length > maxLevels && levels(value) > maxLevels) {
    throw new InvalidValue(`JSON is nested more than ${maxLevels} levels deep`);
  }
  if (suspicious.test(text)) check(value);
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new InvalidValue("Text is no JSON value");
  }
}

/** Containers inside each other, level by level, so that depth costs no stack. */
function levels(root: unknown): number {
  let depth = 0;
  for (let level = [root].filter(isContainer); level.length > 0; level = level.flatMap(childContainers)) depth++;
  return depth;
}

function childContainers(container: object): object[] {
  return Object.values(container).filter(isContainer);
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function check(root: unknown): void {
  for (let level = [root]; level.length > 0; level = level.filter(isContainer).flatMap(keysAndValues)) {
    for (const value of level) {
      if (value === Infinity || value === -Infinity) throw new InvalidValue("JSON number is out of range");
      if (typeof value === "string" && !value.isWellFormed()) throw new InvalidValue("JSON text has a lone surrogate");
    }
  }
}

function keysAndValues(container: object): unknown[] {
  const values: unknown[] = Object.values(container);
  return Array.isArray(container) ? values : values.concat(Object.keys(container));
}
