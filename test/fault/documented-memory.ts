/** The most memory that a process takes, as docs/operations.md ("Scale and memory") works it out. */

/** What the bound depends on; the options of the same names. */
export interface MemoryOptions {
  readonly maxOutstandingBytes: number;
  readonly maxOutstandingMessages: number;
  readonly streams: number;
  readonly maxRequestBytes: number;
}

const megabyte = 2 ** 20;

/** Node and libraries at work: 140 MB at rest, V8's heap under load, and buffers until the next collection. */
const processBytes = 300 * megabyte;
/** A message that is held, beside its bytes: its ack ID, its place in the batch, and the reason if it is refused. */
const bytesPerMessage = 1024;
/** The response with which a stream overshoots, and what HTTP/2 has received ahead. */
const bytesPerStream = 14 * megabyte;

/** @returns bytes, of a process with one pipeline */
export function documentedBound(options: MemoryOptions): number {
  const { maxOutstandingBytes, maxOutstandingMessages, streams, maxRequestBytes } = options;
  return (
    processBytes +
    maxOutstandingBytes +
    maxOutstandingMessages * bytesPerMessage +
    streams * bytesPerStream +
    2 * maxRequestBytes
  );
}
