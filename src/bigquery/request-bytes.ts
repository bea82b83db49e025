/**
 * `AppendRowsRequest` on the wire. Most requests are the rows where they lie, with a header of a few bytes put into
 * the headroom in front of them; only those that carry more are copied.
 */
import { RowBatch } from "../write/row-batch.ts";
import { varint32Width } from "../write/wire-writer.ts";
import type { AppendRequest } from "./append-request.ts";

/** Tags of length-delimited fields. */
const writeStream = 0x0a; // AppendRowsRequest 1
const protoRows = 0x22; // AppendRowsRequest 4
const traceId = 0x32; // AppendRowsRequest 6
const writerSchema = 0x0a; // ProtoData 1
const rows = 0x12; // ProtoData 2
const protoDescriptor = 0x0a; // ProtoSchema 1
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

/** Room that everything but the rows takes in a request, at most. */
export function requestOverhead(descriptor: Buffer, stream: string, trace: string): number {
  return descriptor.length + Buffer.byteLength(stream) + Buffer.byteLength(trace) + 64;
}

/** Names the stream. */
export function streamField(stream: string): Buffer {
  return delimited(writeStream, Buffer.from(stream));
}

/** Names who writes; the first one of a connection counts. */
export function traceField(trace: string): Buffer {
  return delimited(traceId, Buffer.from(trace));
}

/** What BigQuery does about columns that a row lacks; holds for the requests that follow on the same connection. */
export function missingValuesField(missingValues: "null" | "default"): Buffer {
  return missingValues === "default" ? missingIsDefault : Buffer.alloc(0);
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
  const dataLength = preamble.schema.length + 1 + varint32Width(rowsLength) + rowsLength;
  const headerLength = preamble.fields.length + 1 + varint32Width(dataLength) + dataLength - rowsLength;
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
  at = putVarint(target, at, dataLength);
  at += preamble.schema.copy(target, at);
  target[at++] = rows;
  putVarint(target, at, rowsLength);
}

function delimited(tag: number, value: Buffer): Buffer {
  const header = Buffer.alloc(1 + varint32Width(value.length));
  header[0] = tag;
  putVarint(header, 1, value.length);
  return Buffer.concat([header, value]);
}

/** Returns the offset behind it. */
function putVarint(target: Buffer, at: number, value: number): number {
  let rest = value;
  while (rest > 127) {
    target[at++] = (rest & 127) | 128;
    rest >>>= 7;
  }
  target[at++] = rest;
  return at;
}
