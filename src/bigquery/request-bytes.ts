/**
 * `AppendRowsRequest` on the wire. Most requests are the rows where they lie, with a header of a few bytes put into
 * the headroom in front of them; only those that carry more are copied.
 */
import { bytesTag, varintTag, varintWidth, writeVarint } from "../lib/wire-format.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import { RowBatch } from "../write/row-batch.ts";
import type { AppendRequest } from "./append-request.ts";

/** AppendRowsRequest */
const writeStream = bytesTag(1);
const offsetOfRows = bytesTag(2);
const protoRows = bytesTag(4);
const traceId = bytesTag(6);
const missingValueInterpretations = bytesTag(7);
/** An entry of that map: its key, and 2, an enum, as NULL_VALUE. */
const interpretedColumn = bytesTag(1);
const missingIsNull = Buffer.from([0x10, 0x01]);
/** Int64Value */
const int64 = varintTag(1);
/** ProtoData */
const writerSchema = bytesTag(1);
const rows = bytesTag(2);
/** ProtoSchema */
const protoDescriptor = bytesTag(1);
/** AppendRowsRequest 8, an enum: default_missing_value_interpretation = DEFAULT_VALUE. Unset, a missing value is NULL. */
const missingIsDefault = Buffer.from([0x40, 0x02]);

/** What a request carries besides its rows. */
export interface RequestPreamble {
  /** Fields of the request itself. */
  readonly fields: Buffer;
  /** Fields of its `proto_rows`. */
  readonly schema: Buffer;
}

export const noPreamble: RequestPreamble = { fields: Buffer.alloc(0), schema: Buffer.alloc(0) };

/** Room for the tags and lengths of a request, its offset, and the ID of a stream of our own, which is longer than `_default`. */
const moreOverhead = 320;

/** Room that everything but the rows takes in a request, at most. */
export function requestOverhead({ descriptor, emptyWhenMissing }: Transcoder, stream: string, trace: string): number {
  const texts = Buffer.byteLength(stream) + Buffer.byteLength(trace);
  return descriptor.bytes.length + nullWhenMissingField(emptyWhenMissing).length + texts + moreOverhead;
}

/** Names the stream. */
export function streamField(stream: string): Buffer {
  return delimited(writeStream, Buffer.from(stream));
}

/** Where the rows stand in a write stream of our own: how many there are before them. */
export function offsetField(offset: number): Buffer {
  const value = [int64];
  let rest = offset;
  // Beyond 32 bits, where bit operations end.
  for (; rest > 127; rest = Math.floor(rest / 128)) value.push((rest % 128) + 128);
  value.push(rest);
  return delimited(offsetOfRows, Buffer.from(value));
}

/** Names who writes; the first one of a connection counts. */
export function traceField(trace: string): Buffer {
  return delimited(traceId, Buffer.from(trace));
}

/** What BigQuery does about columns that a row lacks; holds for the requests that follow on the same connection. */
export function missingValuesField(missingValues: "null" | "default"): Buffer {
  return missingValues === "default" ? missingIsDefault : Buffer.alloc(0);
}

/** Columns that are NULL when a row lacks them, whatever the connection says of the others; holds for this request alone. */
export function nullWhenMissingField(columns: readonly string[]): Buffer {
  const entries = columns.map((name) =>
    Buffer.concat([delimited(interpretedColumn, Buffer.from(name)), missingIsNull]),
  );
  return Buffer.concat(entries.map((entry) => delimited(missingValueInterpretations, entry)));
}

/** How the rows are to be read; holds for the requests that follow on the same connection. */
export function schemaField(descriptor: Buffer): Buffer {
  return delimited(writerSchema, delimited(protoDescriptor, descriptor));
}

/**
 * The bytes of a request. They may lie in the row batch's own buffer, which must stay as it is until the answer.
 *
 * @param preamble `noPreamble` unless the connection has to be told something
 */
export function requestBytes(request: AppendRequest, preamble: RequestPreamble): Buffer {
  const rowsLength = request.byteLength;
  const dataLength = preamble.schema.length + 1 + varintWidth(rowsLength) + rowsLength;
  const headerLength = preamble.fields.length + 1 + varintWidth(dataLength) + dataLength - rowsLength;
  if (request.whole && headerLength <= RowBatch.headroom) {
    const { bytes, position } = request.pending.rows.writer;
    writeHeader(bytes, RowBatch.headroom - headerLength, preamble, dataLength, rowsLength);
    return bytes.subarray(RowBatch.headroom - headerLength, position);
  }
  const bytes = Buffer.allocUnsafe(headerLength + rowsLength);
  writeHeader(bytes, 0, preamble, dataLength, rowsLength);
  request.copyRows(bytes, headerLength);
  return bytes;
}

function writeHeader(
  target: Buffer,
  start: number,
  preamble: RequestPreamble,
  dataLength: number,
  rowsLength: number,
): void {
  let at = start + preamble.fields.copy(target, start);
  target[at++] = protoRows;
  at = writeVarint(target, at, dataLength);
  at += preamble.schema.copy(target, at);
  target[at++] = rows;
  writeVarint(target, at, rowsLength);
}

function delimited(tag: number, value: Buffer): Buffer {
  const header = Buffer.alloc(1 + varintWidth(value.length));
  header[0] = tag;
  writeVarint(header, 1, value.length);
  return Buffer.concat([header, value]);
}
