/** What the destination reaches through the network, what it compiles, and chance. */
import type { MappingOptions } from "../mapping/mapping-plan.ts";
import type { Clock } from "../lib/clock.ts";
import type { Credentials, Endpoint } from "../lib/endpoint.ts";
import { type TableReference, tableName } from "../schema/table-reference.ts";
import type { TableSchema } from "../schema/table-schema.ts";
import { createTranscoder, type Transcoder } from "../transcode/transcoder.ts";
import { appendCalls, type OpenCall } from "./append-call.ts";
import { fetchTable } from "./tables.ts";
import { type WriteStreamCalls, writeStreamCalls } from "./write-stream-calls.ts";

/** Where the table is, and how to get there. */
export interface RemoteTable {
  readonly table: TableReference;
  readonly mapping: MappingOptions;
  /** BigQuery's REST API, for the table's schema. */
  readonly restEndpoint: Endpoint;
  /** The Storage Write API. */
  readonly storageEndpoint: Endpoint;
  /** Undefined when both endpoints are plaintext. */
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

/** Tests put their own here. */
export interface DestinationParts {
  readonly fetchTable: (signal: AbortSignal) => Promise<TableSchema>;
  /** @throws SetupError when the mapping cannot be */
  readonly compile: (table: TableSchema) => Transcoder;
  readonly openCall: OpenCall;
  /** Used by `exactlyOnce`, and by trials of rows. */
  readonly writeStreams: WriteStreamCalls;
  readonly random: () => number;
}

/** The parts that reach BigQuery itself. */
export function remoteParts(remote: RemoteTable): DestinationParts {
  const { table, mapping, restEndpoint, storageEndpoint, credentials, clock } = remote;
  return {
    fetchTable: (signal) => fetchTable(table, { endpoint: restEndpoint, credentials, clock }, signal),
    compile: (schema) => createTranscoder(schema, mapping),
    openCall: appendCalls(storageEndpoint, credentials),
    writeStreams: writeStreamCalls(storageEndpoint, credentials, tableName(table)),
    random: Math.random,
  };
}
