/** The bounds of a RANGE, as they were just written. */
import type { WireWriter } from "../write/wire-writer.ts";

/** Tag of the field `end`, number 2, a varint. */
const endTag = 16;

/**
 * Whether the RANGE whose fields begin at `start` in the writer and go on to its position starts before it ends.
 * A range without one of its bounds does.
 */
export function isRangeInOrder(out: WireWriter, start: number): boolean {
  let lower: bigint | undefined;
  let upper: bigint | undefined;
  let at = start;
  while (at < out.position) {
    const isEnd = out.bytes[at++] === endTag;
    let bits = 0n;
    let shift = 0n;
    for (;;) {
      const byte = out.bytes[at++]!;
      bits |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
      shift += 7n;
    }
    const value = BigInt.asIntN(64, bits);
    if (isEnd) upper = value;
    else lower = value;
  }
  return lower === undefined || upper === undefined || lower < upper;
}
