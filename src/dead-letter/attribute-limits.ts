/** What Pub/Sub takes of attributes, and what they take of its room. */
import { fieldBytes } from "../lib/wire-format.ts";
import type { Attributes } from "../message.ts";

export const maxAttributes = 100;
const maxKeyBytes = 256;
export const maxValueBytes = 1024;

/** Shows where a value was cut. */
const cutMark = "…";

/** A topic takes these attributes, if they take at most `roomBytes` of the message's encoding. */
export function fits(attributes: Attributes, roomBytes: number): boolean {
  if (attributes.size > maxAttributes || encodedBytes(attributes) > roomBytes) return false;
  return [...attributes].every(([key, value]) => takesAttribute(key, value));
}

/** A topic takes this attribute by itself. Names that begin with "goog" are Google's own. */
export function takesAttribute(key: string, value: string): boolean {
  const taken = Buffer.byteLength(key) <= maxKeyBytes && Buffer.byteLength(value) <= maxValueBytes;
  return taken && !key.startsWith("goog");
}

/** The longest beginning of a text that takes at most so many bytes of UTF-8, its cut marked. */
export function cutToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes - Buffer.byteLength(cutMark);
  while (isContinuation(bytes[end]!)) end--;
  return bytes.toString("utf8", 0, end) + cutMark;
}

/** UTF-8: a byte within a character. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** Bytes that attributes take in an encoded PubsubMessage. */
export function encodedBytes(attributes: Attributes): number {
  let bytes = 0;
  for (const [key, value] of attributes) bytes += fieldBytes(textBytes(key) + textBytes(value));
  return bytes;
}

function textBytes(text: string): number {
  return fieldBytes(Buffer.byteLength(text));
}
