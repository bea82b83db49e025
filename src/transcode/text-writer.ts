/** Texts of any length and with escapes, from the payload to the row. */
import type { JsonReader } from "../read/json-reader.ts";
import { varintWidth } from "../lib/wire-format.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/**
 * Longer texts with escapes are resolved beside the row: in it there would have to be room for what they are written as, up to six times as
 * much as they become, and a row that fits could seem too large.
 */
const longText = 8192;

/**
 * Writes a text, its length in front.
 *
 * @param start behind the opening quote
 * @returns the offset behind the closing quote
 * @throws PayloadFault when the text is malformed
 */
export function writeText(reader: JsonReader, start: number, out: WireWriter): number {
  const close = reader.scanText(start);
  if (!reader.escaped) {
    out.lengthDelimited(reader.bytes, start, close);
    return close + 1;
  }
  if (close - start > longText) {
    const length = reader.resolve(start, close);
    out.lengthDelimited(reader.scratch, 0, length);
    return close + 1;
  }
  const width = varintWidth(close - start);
  out.reserve(close - start + 10);
  const part = out.fork(width);
  out.position = reader.resolveInto(out.bytes, out.position, start, close);
  out.join(part, width);
  return close + 1;
}
