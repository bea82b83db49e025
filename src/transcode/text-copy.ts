/** Texts from the payload to the row in one pass, where the column takes them as they are. */
import { bytesBeforeStop, highBits, stopBits, type JsonReader } from "../read/json-reader.ts";
import { quote } from "../read/ascii.ts";
import { varint32Width, type WireWriter } from "../write/wire-writer.ts";

/** Longer texts are copied natively, when their end is known. */
const shortText = 64;

/**
 * Writes a text, its length in front.
 *
 * @param start behind the opening quote
 * @returns the offset behind the closing quote
 * @throws PayloadFault when the text is malformed
 */
export function copyText(reader: JsonReader, start: number, out: WireWriter): number {
  out.reserve(shortText + 8);
  const source = reader.view;
  const target = out.view;
  const first = out.position + 1;
  const last = Math.min(reader.end - 4, start + shortText);
  let at = start;
  let to = first;
  let seen = 0;
  while (at <= last) {
    const word = source.getInt32(at, true);
    const stops = stopBits(word);
    target.setInt32(to, word, true);
    if (stops === 0) {
      seen |= word;
      at += 4;
      to += 4;
      continue;
    }
    const count = bytesBeforeStop(stops);
    at += count;
    if (reader.bytes[at] !== quote || ((seen | word) & highBits) !== 0) break;
    const length = to + count - first;
    out.bytes[first - 1] = length;
    out.position = first + length;
    return at + 1;
  }
  return copyUnusualText(reader, start, out);
}

/** A text that is long, has escapes or characters beyond ASCII, or stands near the end of the payload. */
function copyUnusualText(reader: JsonReader, start: number, out: WireWriter): number {
  const close = reader.scanText(start);
  if (!reader.escaped) {
    out.lengthDelimited(reader.bytes, start, close);
    return close + 1;
  }
  const width = varint32Width(close - start);
  out.reserve(close - start + 10);
  const part = out.fork(width);
  out.position = reader.resolveInto(out.bytes, out.position, start, close);
  out.join(part, width);
  return close + 1;
}
