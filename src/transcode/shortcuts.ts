/**
 * Short cuts for values as they are mostly written: from the payload to the row in one pass, tag included. Each looks at the value that begins at
 * `start`; when it is not written so plainly, it writes nothing and gives back −1, and the conversion of the column takes the value,
 * with the same result but for the time.
 */
import type { ColumnPlan } from "../mapping/mapping-plan.ts";
import * as ascii from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import * as plainWords from "../read/plain-words.ts";
import { isValidUtf8 } from "../read/utf8.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { copyDecimal, copyDouble, copyInteger } from "./number-shortcuts.ts";
import { copyDate, copyDatetime, copyTimestamp } from "./time-shortcuts.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { letterT, quote } = ascii;
const { bytesBeforeStop, highBits, stopBits } = plainWords;

/** Numbers, so that a value finds its way by a jump. */
const none = 0;
const text = 1;
const integer = 2;
const double = 3;
const boolean = 4;
const date = 5;
const timestamp = 6;
const datetime = 7;
const decimal = 8;

/** Where every value takes the long way. */
export const noShortcut = none;

/** Which short cut the values of a column may take: a number for `takeShortcut`. */
export function shortcutOf({ column, hasFormat }: ColumnPlan): number {
  switch (column.type) {
    case "STRING":
      return column.maxLength === undefined ? text : none;
    case "INT64":
      return integer;
    case "FLOAT64":
      return double;
    case "BOOL":
      return boolean;
    case "DATE":
      return hasFormat ? none : date;
    case "TIMESTAMP":
      return hasFormat || column.timestampPrecision === 12 ? none : timestamp;
    case "DATETIME":
      return hasFormat ? none : datetime;
    case "NUMERIC":
      return column.precision === undefined ? decimal : none;
    default:
      return none;
  }
}

/**
 * Writes the value that begins at `start`, behind its tag, if it is written in the plainest way.
 *
 * @param shortcut what `shortcutOf` gave for the column
 * @returns the offset behind the value; −1 when it takes the long way, then nothing was written
 */
export function takeShortcut(
  shortcut: number,
  reader: JsonReader,
  start: number,
  tag: number,
  out: WireWriter,
): number {
  switch (shortcut) {
    case text:
      return copyText(reader, start, tag, out);
    case integer:
      return copyInteger(reader, start, tag, out);
    case double:
      return copyDouble(reader, start, tag, out);
    case boolean:
      return copyBoolean(reader, start, tag, out);
    case date:
      return copyDate(reader, start, tag, out);
    case timestamp:
      return copyTimestamp(reader, start, tag, out);
    case datetime:
      return copyDatetime(reader, start, tag, out);
    case decimal:
      return copyDecimal(reader, start, tag, out);
    default:
      return -1;
  }
}

/** Longer texts are copied natively, when their end is known. */
const shortText = 64;

/** A text of at most about 64 bytes, without escapes. */
function copyText(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const { bytes, view } = reader;
  const last = Math.min(reader.end - 4, start + shortText);
  if (start > last || bytes[start] !== quote) return -1;
  const first = out.beginField(tag, shortText + 8) + 1;
  const target = out.view;
  let at = start + 1;
  let to = first;
  let seen = 0;
  while (at <= last) {
    const word = view.getInt32(at, true);
    const stops = stopBits(word);
    target.setInt32(to, word, true);
    seen |= word;
    if (stops !== 0) {
      const count = bytesBeforeStop(stops);
      at += count;
      if (bytes[at] !== quote) return -1;
      if ((seen & highBits) !== 0 && !isValidUtf8(bytes, start + 1, at)) return -1;
      to += count;
      out.bytes[first - 1] = to - first;
      out.position = to;
      return at + 1;
    }
    at += 4;
    to += 4;
  }
  return -1;
}

/** `true` or `false`. */
function copyBoolean(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const at = reader.booleanEnd(start);
  if (at < 0) return -1;
  const to = out.beginField(tag, 1);
  out.bytes[to] = reader.bytes[start] === letterT ? 1 : 0;
  out.position = to + 1;
  return at;
}
