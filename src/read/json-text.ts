/** Escapes of JSON texts: checked, or resolved into UTF-8. */
import * as ascii from "./ascii.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { backslash, caseBit, letterU } = ascii;

/** What the character behind a backslash stands for; 0 where there is no such escape (`\u` is not in the table). */
const simpleEscapes = new Uint8Array(256);
for (let i = 0, names = '"\\/bfnrt', characters = '"\\/\b\f\n\r\t'; i < names.length; i++) {
  simpleEscapes[names.charCodeAt(i)] = characters.charCodeAt(i);
}

/** A run between two escapes that is longer than this is copied natively. */
const shortRun = 32;

/**
 * Resolves the escapes of the text `bytes[start, end)` into UTF-8.
 *
 * @param out takes the characters from `at` on; they need no more room than the source does
 * @returns the offset in `out` behind the last byte, or −1 − o where o is the offset of an escape that JSON has not
 *   or that stands for half a surrogate pair
 */
export function unescape(bytes: Buffer, start: number, end: number, out: Buffer, at: number): number {
  let from = start;
  while (from < end) {
    const escape = nextEscape(bytes, from, end);
    at = copyRun(bytes, from, escape, out, at);
    if (escape === end) break;
    const character = escapedCharacter(bytes, escape, end);
    if (character < 0) return -1 - escape;
    at = putUtf8(character, out, at);
    from = escape + escapeLength(bytes, escape, character);
  }
  return at;
}

/** The offset of the first escape in `bytes[start, end)` that JSON has not or that stands for half a surrogate pair; −1 when all are sound. */
export function firstBadEscape(bytes: Buffer, start: number, end: number): number {
  let escape = nextEscape(bytes, start, end);
  while (escape < end) {
    const character = escapedCharacter(bytes, escape, end);
    if (character < 0) return escape;
    escape = nextEscape(bytes, escape + escapeLength(bytes, escape, character), end);
  }
  return -1;
}

function nextEscape(bytes: Buffer, from: number, end: number): number {
  const near = Math.min(from + shortRun, end);
  while (from < near && bytes[from] !== backslash) from++;
  if (from < near || from === end) return from;
  // A view, since a search in the whole buffer would run on through the messages behind this one.
  const found = bytes.subarray(from, end).indexOf(backslash);
  return found < 0 ? end : from + found;
}

function copyRun(bytes: Buffer, from: number, to: number, out: Buffer, at: number): number {
  if (to - from > shortRun) return at + bytes.copy(out, at, from, to);
  while (from < to) out[at++] = bytes[from++]!;
  return at;
}

/** The code point that the escape at `at` stands for; −1 when it is none. */
function escapedCharacter(bytes: Buffer, at: number, end: number): number {
  const name = at + 1 < end ? bytes[at + 1]! : 0;
  if (name !== letterU) return simpleEscapes[name]! || -1;
  const unit = codeUnit(bytes, at, end);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  const low = unit < 0xdc00 ? codeUnit(bytes, at + 6, end) : -1;
  return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : -1;
}

function escapeLength(bytes: Buffer, at: number, character: number): number {
  if (bytes[at + 1] !== letterU) return 2;
  return character > 0xffff ? 12 : 6;
}

/** The value of `\uXXXX` at `at`; −1 when that is not what stands there. */
function codeUnit(bytes: Buffer, at: number, end: number): number {
  if (at + 6 > end || bytes[at] !== backslash || bytes[at + 1] !== letterU) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigit(bytes[i]!);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexDigit(character: number): number {
  const digit = character - 0x30;
  if (digit >= 0 && digit < 10) return digit;
  const letter = (character | caseBit) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

function putUtf8(character: number, out: Buffer, at: number): number {
  if (character < 0x80) {
    out[at++] = character;
  } else if (character < 0x800) {
    out[at++] = 0xc0 | (character >> 6);
    out[at++] = 0x80 | (character & 0x3f);
  } else if (character < 0x10000) {
    out[at++] = 0xe0 | (character >> 12);
    out[at++] = 0x80 | ((character >> 6) & 0x3f);
    out[at++] = 0x80 | (character & 0x3f);
  } else {
    out[at++] = 0xf0 | (character >> 18);
    out[at++] = 0x80 | ((character >> 12) & 0x3f);
    out[at++] = 0x80 | ((character >> 6) & 0x3f);
    out[at++] = 0x80 | (character & 0x3f);
  }
  return at;
}
