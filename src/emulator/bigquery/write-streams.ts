/** The methods of write streams, AppendRows aside: create, get, finalize, flush, commit. */
import { randomUUID } from "node:crypto";
import { AppendRefusal } from "./append-refusal.ts";
import type { Catalog } from "./catalog.ts";
import { storageSchema } from "./column-json.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { StoredTable } from "./stored-table.ts";
import {
  commitRefusal,
  streamFinalized,
  streamNotFound,
  tableNotFound,
  wrongOffset,
  wrongType,
} from "./stream-refusal.ts";
import {
  defaultStreamId,
  parseStreamName,
  parseTablePath,
  type StreamName,
  type TableName,
  textOfStream,
  tablePath,
} from "./table-name.ts";
import { type StreamType, WriteStream } from "./write-stream.ts";

export interface CreateWriteStreamRequest {
  readonly parent: string;
  readonly writeStream: { readonly type: string } | null;
}

export interface GetWriteStreamRequest {
  readonly name: string;
  readonly view: string;
}

export interface FinalizeWriteStreamRequest {
  readonly name: string;
}

/** Int64 values are text. */
export interface FlushRowsRequest {
  readonly writeStream: string;
  readonly offset: { readonly value: string } | null;
}

export interface BatchCommitWriteStreamsRequest {
  readonly parent: string;
  readonly writeStreams: readonly string[];
}

const streamTypes: readonly string[] = ["COMMITTED", "PENDING", "BUFFERED"] satisfies readonly StreamType[];

/** BigQuery's own limit. */
const maxCommittedStreams = 10_000;

/** Every method takes a request and gives a response in the plain form of the message. */
export class WriteStreams {
  readonly #catalog: Catalog;
  readonly #nowMs: () => number;
  readonly #creations: RateLimit | undefined;

  /**
   * @param nowMs wall-clock time, by which streams end their lives
   * @param creations how many streams may be created
   */
  constructor(catalog: Catalog, nowMs: () => number, creations?: RateLimit) {
    this.#catalog = catalog;
    this.#nowMs = nowMs;
    this.#creations = creations;
  }

  /** @throws AppendRefusal, as every method below */
  create({ parent, writeStream }: CreateWriteStreamRequest): object {
    const table = this.#parent(parent);
    const type = writeStream?.type ?? "";
    if (!streamTypes.includes(type)) throw wrongType(parent, "A stream is created COMMITTED, PENDING or BUFFERED");
    if (this.#creations?.take(1) === false) {
      throw new AppendRefusal("RESOURCE_EXHAUSTED", "Exceeds 'CreateWriteStream requests' quota. Try again later");
    }
    const stream = new WriteStream(randomUUID(), type as StreamType, this.#nowMs());
    this.#catalog.createStream(table, stream);
    return withSchema(described(table, stream), table);
  }

  /** A default stream is there as soon as its table is. */
  get({ name, view }: GetWriteStreamRequest): object {
    const streamName = parsed(name);
    const table = this.#tableOf(streamName);
    const stream = streamName.stream === defaultStreamId ? defaultStream(table) : this.#described(table, streamName);
    return view === "FULL" ? withSchema(stream, table) : stream;
  }

  /** Again and again, with the same answer. */
  finalize({ name }: FinalizeWriteStreamRequest): object {
    const { table, stream } = this.#created(name, "finalized");
    if (!stream.isFinalized) this.#catalog.finalizeStream(table, stream);
    return { rowCount: stream.rowCount };
  }

  flush({ writeStream, offset }: FlushRowsRequest): object {
    const { table, stream, entity } = this.#created(writeStream, "flushed");
    if (stream.type !== "BUFFERED")
      throw wrongType(entity, `Only BUFFERED streams are flushed, this is ${stream.type}`);
    if (stream.isFinalized) throw streamFinalized(entity);
    if (!offset || Number(offset.value) < 0) throw invalid(`Flush needs the offset of a row. Entity: ${entity}`);
    const last = Number(offset.value);
    if (last >= stream.rowCount) throw wrongOffset(entity, stream.rowCount - 1, last);
    if (last >= stream.visibleCount) this.#catalog.flushStream(table, stream, last + 1, this.#nowMs());
    return { offset: last };
  }

  /** All streams or none. */
  batchCommit({ parent, writeStreams }: BatchCommitWriteStreamsRequest): object {
    const table = this.#parent(parent);
    checkGroup(parent, writeStreams);
    const found = writeStreams.map((name) => ({ entity: name, stream: table.streams.get(parsed(name).stream) }));
    const nowMs = this.#nowMs();
    const refusals = found.flatMap(({ entity, stream }) => commitRefusal(entity, stream, nowMs) ?? []);
    if (refusals.length > 0) return { streamErrors: refusals.map((refusal) => refusal.storageError) };
    const streams = found.map(({ stream }) => stream!);
    this.#catalog.commitStreams(table, streams, nowMs);
    return { commitTime: timestamp(nowMs) };
  }

  #parent(text: string): StoredTable {
    const name = parseTablePath(text);
    if (!name) throw invalid("Invalid parent. Expected projects/P/datasets/D/tables/T");
    return this.#table(name, text);
  }

  #tableOf(name: StreamName): StoredTable {
    return this.#table(name, textOfStream(name));
  }

  #table(name: TableName, entity: string): StoredTable {
    const table = this.#catalog.findTable(name);
    if (!table) throw tableNotFound(entity);
    return table;
  }

  #described(table: StoredTable, name: StreamName): object {
    return described(table, this.#stream(table, name));
  }

  #stream(table: StoredTable, name: StreamName): WriteStream {
    const stream = table.streams.get(name.stream);
    if (!stream || stream.isExpired(this.#nowMs())) throw streamNotFound(textOfStream(name));
    return stream;
  }

  /** @param what is done to streams that were created, and not to default ones */
  #created(text: string, what: string): { table: StoredTable; stream: WriteStream; entity: string } {
    const name = parsed(text);
    const entity = textOfStream(name);
    if (name.stream === defaultStreamId) throw wrongType(entity, `The default stream cannot be ${what}`);
    const table = this.#tableOf(name);
    return { table, stream: this.#stream(table, name), entity };
  }
}

function parsed(text: string): StreamName {
  const name = parseStreamName(text);
  if (!name) throw invalid("Invalid stream name. Expected projects/P/datasets/D/tables/T/streams/ID");
  return name;
}

function checkGroup(parent: string, names: readonly string[]): void {
  if (names.length === 0) throw invalid("write_streams must name the streams to commit");
  if (names.length > maxCommittedStreams) throw invalid(`At most ${maxCommittedStreams} streams are committed at once`);
  if (new Set(names).size < names.length) throw invalid("write_streams names a stream twice");
  const other = names.find((name) => tablePath(parsed(name)) !== parent);
  if (other !== undefined) throw invalid(`Stream does not belong to the table that is the parent. Entity: ${other}`);
}

function invalid(message: string): AppendRefusal {
  return new AppendRefusal("INVALID_ARGUMENT", message);
}

function defaultStream({ name, state }: StoredTable): object {
  const created = timestamp(state.createdMs);
  return {
    name: textOfStream({ ...name, stream: defaultStreamId }),
    type: "COMMITTED",
    writeMode: "INSERT",
    location: "us",
    createTime: created,
    commitTime: created,
  };
}

function described({ name }: StoredTable, { id, type, createdMs, commitMs }: WriteStream): object {
  return {
    name: textOfStream({ ...name, stream: id }),
    type,
    writeMode: "INSERT",
    location: "us",
    createTime: timestamp(createdMs),
    ...(commitMs === undefined ? {} : { commitTime: timestamp(commitMs) }),
  };
}

function withSchema(stream: object, { state }: StoredTable): object {
  return { ...stream, tableSchema: storageSchema(state.columns) };
}

/** A `google.protobuf.Timestamp`. */
function timestamp(ms: number): object {
  const seconds = Math.floor(ms / 1000);
  return { seconds, nanos: Math.round((ms - seconds * 1000) * 1000) * 1000 };
}
