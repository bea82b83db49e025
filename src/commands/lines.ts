/** Lines of a byte stream, as bytes. */

const newline = 0x0a;

/**
 * Splits chunks into lines, without their newlines. What follows the last newline is a line unless it is empty.
 * At most one line and one chunk are held.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      begun.push(chunk.subarray(start, end));
      yield begun.length === 1 ? begun[0]! : Buffer.concat(begun);
      begun = [];
      start = end + 1;
    }
    if (start < chunk.length) begun.push(chunk.subarray(start));
  }
  if (begun.length > 0) yield Buffer.concat(begun);
}
