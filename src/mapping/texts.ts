/** STRING and BOOL: characters as they are, and the two words of truth. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import type { Column } from "../schema/table-schema.ts";

/** JSON text → STRING: its characters; JSON number or boolean → STRING: its source text. */
export function stringFromCharacters(column: Column): Convert {
  const { maxLength } = column;
  if (maxLength === undefined) {
    return (bytes, start, end, out) => {
      out.lengthDelimited(bytes, start, end);
      return undefined;
    };
  }
  return (bytes, start, end, out) => {
    // No character takes less than a byte: most texts need no counting.
    if (end - start > maxLength) {
      const length = codePoints(bytes, start, end);
      if (length > maxLength) return tooLong(maxLength, length);
    }
    out.lengthDelimited(bytes, start, end);
    return undefined;
  };
}

function tooLong(maxLength: number, length: number): Fault {
  return {
    code: "OUT_OF_RANGE",
    message: `STRING(${maxLength}) holds at most ${maxLength} characters; got ${length}`,
  };
}

/** Every code point has one byte that is no continuation byte (RFC 3629). */
function codePoints(bytes: Buffer, start: number, end: number): number {
  let count = 0;
  for (let i = start; i < end; i++) if ((bytes[i]! & 0xc0) !== 0x80) count++;
  return count;
}

const notTruth: Fault = { code: "TYPE_MISMATCH", message: "BOOL takes the words true and false; got other text" };

const wordTrue = Buffer.from("true");
const wordFalse = Buffer.from("false");

/** JSON boolean → BOOL. */
export const boolFromBoolean: Convert = (bytes, start, _end, out) => {
  out.bool(bytes[start] === 0x74);
  return undefined;
};

/** JSON text → BOOL: `true` or `false` in any case. */
export const boolFromText: Convert = (bytes, start, end, out) => {
  if (spells(bytes, start, end, wordTrue)) out.bool(true);
  else if (spells(bytes, start, end, wordFalse)) out.bool(false);
  else return notTruth;
  return undefined;
};

/** Whether the range is this word of lower-case letters, in any case. */
function spells(bytes: Buffer, start: number, end: number, word: Buffer): boolean {
  if (end - start !== word.length) return false;
  for (let i = 0; i < word.length; i++) if ((bytes[start + i]! | 0x20) !== word[i]) return false;
  return true;
}
