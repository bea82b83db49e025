/** The stream and the writer schema that the requests of one connection go by until they name others. */
import { AppendRefusal } from "./append-refusal.ts";
import type { AppendRequest } from "./append-request.ts";
import type { Catalog } from "./catalog.ts";
import type { Column } from "./column.ts";
import type { StoredTable } from "./stored-table.ts";
import { streamFinalized, streamNotFound, tableNotFound } from "./stream-refusal.ts";
import { defaultStreamId, parseStreamName, type StreamName, textOfStream } from "./table-name.ts";
import type { TableVersion } from "./table-version.ts";
import type { WriteStream } from "./write-stream.ts";

export interface Destination {
  readonly streamName: StreamName;
  /** The same as text. */
  readonly entity: string;
  /** A serialized DescriptorProto. */
  readonly descriptor: Buffer;
  readonly table: StoredTable;
  /** Undefined: the table's default stream. */
  readonly stream: WriteStream | undefined;
}

/** How long the servers that take rows lag behind changes of tables. GetWriteStream and REST tell them at once. */
export interface Propagation {
  /** Until a changed schema holds for rows, and is told on the connections that were open before. */
  readonly schemaDelayMs?: number;
  /** Until a table is found that has the name of one that was deleted. */
  readonly recreationDelayMs?: number;
}

export class Destinations {
  readonly #catalog: Catalog;
  readonly #schemaDelayMs: number;
  readonly #recreationDelayMs: number;
  #current: Destination | undefined;
  /** Once stream or schema were changed, every request names its stream. */
  #hasSwitched = false;
  /** The number of each table's version that the other side knows of. */
  readonly #knownVersions = new Map<StoredTable, number>();

  constructor(catalog: Catalog, { schemaDelayMs = 0, recreationDelayMs = 0 }: Propagation = {}) {
    this.#catalog = catalog;
    this.#schemaDelayMs = schemaDelayMs;
    this.#recreationDelayMs = recreationDelayMs;
  }

  /** Of the last request that was understood. */
  get current(): Destination | undefined {
    return this.#current;
  }

  /** @param nowMs by which streams end their lives @throws AppendRefusal */
  of(request: AppendRequest, nowMs: number): Destination {
    const before = this.#current;
    if (request.writeStream === "" && (!before || this.#hasSwitched)) throw invalid("write_stream must be specified");
    const isAsBefore = before !== undefined && (request.writeStream === "" || request.writeStream === before.entity);
    const streamName = isAsBefore ? before.streamName : parsed(request.writeStream);
    const entity = isAsBefore ? before.entity : textOfStream(streamName);
    const isSameStream = before?.entity === entity;
    if (before?.stream && !isSameStream) throw cannotSwitch(before.entity);
    const table = this.#tableOf(streamName, nowMs);
    const stream = streamOf(table, streamName, nowMs);
    const descriptor = request.descriptor ?? (isSameStream ? before.descriptor : undefined);
    if (!descriptor) throw invalid("Schema is missing: the first request to a table needs writer_schema");
    const isSameSchema = isSameStream && descriptor.equals(before.descriptor);
    if (isSameSchema && before.table === table) return before;
    if (stream && before && !isSameSchema) throw cannotSwitch(entity);
    if (before && !isSameSchema) this.#hasSwitched = true;
    this.#knownVersions.set(table, table.version);
    this.#current = { streamName, entity, descriptor: Buffer.from(descriptor), table, stream };
    return this.#current;
  }

  /** The version of the table by which rows are taken now. */
  version({ table }: Destination, nowMs: number): TableVersion {
    return table.versions.at(nowMs - this.#schemaDelayMs);
  }

  /** The table's columns when they changed since the connection was last told, or gave its writer schema. */
  updatedColumns({ table }: Destination, { number, columns }: TableVersion): readonly Column[] | undefined {
    if (number <= (this.#knownVersions.get(table) ?? 0)) return undefined;
    this.#knownVersions.set(table, number);
    return columns;
  }

  #tableOf(name: StreamName, nowMs: number): StoredTable {
    const table = this.#catalog.findTable(name);
    const isKnown = table && !(table.isSuccessor && nowMs - table.state.createdMs < this.#recreationDelayMs);
    if (!isKnown) throw tableNotFound(textOfStream(name));
    return table;
  }
}

function streamOf(table: StoredTable, name: StreamName, nowMs: number): WriteStream | undefined {
  if (name.stream === defaultStreamId) return undefined;
  const stream = table.streams.get(name.stream);
  if (!stream || stream.isExpired(nowMs)) throw streamNotFound(textOfStream(name));
  if (stream.isFinalized) throw streamFinalized(textOfStream(name));
  return stream;
}

function parsed(text: string): StreamName {
  const name = parseStreamName(text);
  if (name) return name;
  throw invalid("Invalid stream name. Expected projects/P/datasets/D/tables/T/streams/ID or …/streams/_default");
}

/** Only default streams share a connection, and only on them a schema changes in-band. */
function cannotSwitch(entity: string): AppendRefusal {
  return invalid(`A connection to a stream that was created keeps its stream and its writer_schema. Entity: ${entity}`);
}

function invalid(message: string): AppendRefusal {
  return new AppendRefusal("INVALID_ARGUMENT", message);
}
