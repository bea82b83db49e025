/** The hash by which keys of JSON objects are looked up. Seeded at start, so that nobody can prepare keys that collide. */
import { randomInt } from "node:crypto";

const seed = randomInt(2 ** 31);
const factor = randomInt(2 ** 30) * 2 + 1;

/** The hash before the first byte. */
export const emptyHash = seed;

/** Takes four more bytes, little-endian, into a hash; the last word of a key is filled up with zeros. */
export function mixWord(hash: number, word: number): number {
  const mixed = Math.imul(hash ^ word, factor);
  return mixed ^ (mixed >>> 15);
}

/** Completes a hash by the length of the key in bytes. */
export function finishHash(hash: number, length: number): number {
  const mixed = Math.imul(hash ^ length, factor);
  return mixed ^ (mixed >>> 13);
}

/** The hash of `bytes[start, end)`. */
export function hashOf(bytes: Buffer, start: number, end: number): number {
  let hash = emptyHash;
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mixWord(hash, bytes.readInt32LE(at));
  if (at < end) {
    let word = 0;
    for (let i = end - 1; i >= at; i--) word = (word << 8) | bytes[i]!;
    hash = mixWord(hash, word);
  }
  return finishHash(hash, end - start);
}
