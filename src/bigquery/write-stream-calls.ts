/** CreateWriteStream and FinalizeWriteStream: how write streams of our own begin and end. */
import { Metadata, type Client } from "@grpc/grpc-js";
import protobuf from "protobufjs/minimal.js";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { callUnary, detailsOf, routingHeader, statusOf } from "../lib/raw-call.ts";
import { bytesTag, varintTag } from "../lib/wire-format.ts";
import { type CallEnd, storageErrorOf } from "./append-call.ts";

/** What a call gave, or how it failed. */
export type CallResult<Value> = { readonly value: Value } | { readonly failure: CallEnd };

/**
 * `COMMITTED`: rows are in the table as soon as an append is answered. `PENDING`: they never are, for Millrace commits no
 * stream.
 */
export type WriteStreamType = "COMMITTED" | "PENDING";

/** `google.cloud.bigquery.storage.v1.WriteStream.Type`. */
const typeNumbers: Readonly<Record<WriteStreamType, number>> = { COMMITTED: 1, PENDING: 2 };

/** None of them rejects. */
export interface WriteStreamCalls {
  /**
   * Creates a stream.
   *
   * @returns the stream's name, `projects/P/datasets/D/tables/T/streams/ID`
   */
  create(type: WriteStreamType, signal: AbortSignal): Promise<CallResult<string>>;
  /** Has a stream take nothing more, and says how many rows it has. Again and again, with the same answer. */
  finalize(writeStream: string, signal: AbortSignal): Promise<CallResult<number>>;
  close(): void;
}

const service = "/google.cloud.bigquery.storage.v1.BigQueryWrite";
const timeoutMs = 30_000;

/** @param table resource name, `projects/P/datasets/D/tables/T` */
export function writeStreamCalls(
  endpoint: Endpoint,
  credentials: Credentials | undefined,
  table: string,
): WriteStreamCalls {
  let client: Client | undefined;
  const call = async <Value>(
    method: string,
    metadata: Metadata,
    request: Buffer,
    read: (response: Buffer) => Value,
    signal: AbortSignal,
  ): Promise<CallResult<Value>> => {
    client ??= openClient(endpoint, credentials);
    try {
      const path = `${service}/${method}`;
      return { value: read(await callUnary({ client, path, metadata, request, timeoutMs, signal })) };
    } catch (error) {
      return { failure: endOf(error) };
    }
  };
  return {
    create: (type, signal) =>
      call("CreateWriteStream", routingHeader("parent", table), createRequest(table, type), readName, signal),
    finalize: (name, signal) =>
      call("FinalizeWriteStream", routingHeader("name", name), finalizeRequest(name), readRowCount, signal),
    close: () => client?.close(),
  };
}

function endOf(error: unknown): CallEnd {
  const trailers = error instanceof Error && "metadata" in error ? error.metadata : undefined;
  return {
    code: statusOf(error),
    message: detailsOf(error),
    storageError: trailers instanceof Metadata ? storageErrorOf(trailers) : 0,
  };
}

/** `CreateWriteStreamRequest`: parent = 1, write_stream = 2, of which type = 2. */
function createRequest(table: string, type: WriteStreamType): Buffer {
  const writer = protobuf.Writer.create();
  writer.uint32(bytesTag(1)).string(table);
  writer.uint32(bytesTag(2)).fork().uint32(varintTag(2)).int32(typeNumbers[type]).ldelim();
  return Buffer.from(writer.finish());
}

/** `FinalizeWriteStreamRequest`: name = 1. */
function finalizeRequest(writeStream: string): Buffer {
  return Buffer.from(protobuf.Writer.create().uint32(bytesTag(1)).string(writeStream).finish());
}

/** `WriteStream`: name = 1. */
function readName(response: Buffer): string {
  const reader = protobuf.Reader.create(response);
  let name = "";
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) name = reader.string();
    else reader.skipType(tag & 7);
  }
  return name;
}

/** `FinalizeWriteStreamResponse`: row_count = 1. */
function readRowCount(response: Buffer): number {
  const reader = protobuf.Reader.create(response);
  let rows = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) rows = protobuf.util.LongBits.from(reader.int64()).toNumber();
    else reader.skipType(tag & 7);
  }
  return rows;
}
