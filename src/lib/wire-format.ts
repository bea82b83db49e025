/** The few pieces of protobuf's wire format that are needed where messages are put together from bytes that lie ready. */

const varint = 0;
const lengthDelimited = 2;

/** The tag of a varint field. */
export function varintTag(field: number): number {
  return (field << 3) | varint;
}

/** The tag of a length-delimited field. */
export function bytesTag(field: number): number {
  return (field << 3) | lengthDelimited;
}

/** How many bytes an unsigned 32-bit integer takes as a varint. */
export function varintWidth(value: number): number {
  if (value < 1 << 7) return 1;
  if (value < 1 << 14) return 2;
  if (value < 1 << 21) return 3;
  return value < 1 << 28 ? 4 : 5;
}

/** Writes an unsigned 32-bit integer as a varint and returns the offset behind it. */
export function writeVarint(target: Uint8Array, at: number, value: number): number {
  for (; value > 127; value >>>= 7) target[at++] = (value & 127) | 128;
  target[at++] = value;
  return at;
}

/** How many bytes a length-delimited field takes whose number is below 16: tag, length, content. */
export function fieldBytes(length: number): number {
  return 1 + varintWidth(length) + length;
}
