/** Base64 as BYTES columns take it: standard or URL alphabet, all padding or none, no stray bits, no blanks. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import type { Column } from "../schema/table-schema.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Marks of characters that only one of the two alphabets has, and of those that none has. */
const standardOnly = 0x40;
const urlOnly = 0x80;
const none = 0x100;

/** Character → its six bits and a mark. */
const sextets = new Uint16Array(256).fill(none);
for (let i = 0; i < alphabet.length; i++) sextets[alphabet.charCodeAt(i)] = i;
sextets["+".charCodeAt(0)] = 62 | standardOnly;
sextets["/".charCodeAt(0)] = 63 | standardOnly;
sextets["-".charCodeAt(0)] = 62 | urlOnly;
sextets["_".charCodeAt(0)] = 63 | urlOnly;

const padding = 0x3d;

/** How many bytes base64 text of this range holds, if it is any; never fewer than `decodeBase64` writes. */
export function decodedLength(bytes: Buffer, start: number, end: number): number {
  return Math.floor((unpadded(bytes, start, end) - start) * 0.75);
}

/**
 * Decodes the base64 text `bytes[start, end)` into `target` from offset `at` on.
 *
 * @returns how many bytes were written; -1 when the text is not base64
 */
export function decodeBase64(bytes: Buffer, start: number, end: number, target: Uint8Array, at: number): number {
  const bodyEnd = unpadded(bytes, start, end);
  const rest = (bodyEnd - start) & 3;
  if (rest === 1) return -1;
  const quadsEnd = bodyEnd - rest;
  const begin = at;
  let marks = 0;
  let i = start;
  for (; i < quadsEnd; i += 4) {
    const a = sextets[bytes[i]!]!;
    const b = sextets[bytes[i + 1]!]!;
    const c = sextets[bytes[i + 2]!]!;
    const d = sextets[bytes[i + 3]!]!;
    marks |= a | b | c | d;
    target[at++] = (a << 2) | ((b & 63) >> 4);
    target[at++] = (b << 4) | ((c & 63) >> 2);
    target[at++] = (c << 6) | (d & 63);
  }
  if (rest > 0) {
    const a = sextets[bytes[i]!]!;
    const b = sextets[bytes[i + 1]!]!;
    const c = rest === 3 ? sextets[bytes[i + 2]!]! : 0;
    marks |= a | b | c;
    const stray = rest === 3 ? c & 3 : b & 15;
    if (stray !== 0) return -1;
    target[at++] = (a << 2) | ((b & 63) >> 4);
    if (rest === 3) target[at++] = (b << 4) | ((c & 63) >> 2);
  }
  const mixed = (marks & standardOnly) !== 0 && (marks & urlOnly) !== 0;
  return mixed || (marks & none) !== 0 ? -1 : at - begin;
}

/** Where the text ends without its padding. Padding counts only when it makes the length a multiple of four. */
function unpadded(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || (length & 3) !== 0 || bytes[end - 1] !== padding) return end;
  return bytes[end - 2] === padding ? end - 2 : end - 1;
}

const notBase64: Fault = {
  code: "TYPE_MISMATCH",
  message: "BYTES takes base64 text: standard or URL alphabet, all padding or none, no blanks; got other text",
};

/** JSON text → BYTES. */
export function bytesFromBase64(column: Column): Convert {
  const maxLength = column.maxLength ?? Number.POSITIVE_INFINITY;
  return (bytes, start, end, out) => {
    const length = decodedLength(bytes, start, end);
    out.varint32(length);
    out.reserve(length);
    if (decodeBase64(bytes, start, end, out.bytes, out.position) < 0) return notBase64;
    if (length > maxLength) {
      return { code: "OUT_OF_RANGE", message: `BYTES(${maxLength}) holds at most ${maxLength} bytes; got ${length}` };
    }
    out.position += length;
    return undefined;
  };
}
