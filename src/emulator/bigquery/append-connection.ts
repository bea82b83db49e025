/** What one AppendRows connection remembers, and how each of its requests is judged and stored. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { AppendRefusal } from "./append-refusal.ts";
import type { AppendRequest } from "./append-request.ts";
import type { BoundWriter } from "./bound-writer.ts";
import type { Catalog } from "./catalog.ts";
import { InvalidValue } from "./cell.ts";
import type { Column, DefaultContext } from "./column.ts";
import type { Interpretation, MissingValues } from "./missing-values.ts";
import { visitRows } from "./proto-rows.ts";
import type { StoredTable } from "./stored-table.ts";
import { parseStreamName, type StreamName, textOfStream } from "./table-name.ts";

export interface RowProblem {
  readonly index: number;
  readonly message: string;
}

/** What the answer to a request says. */
export interface AppendOutcome {
  /** Full name of the stream. */
  readonly stream: string;
  /** Undefined when the rows are in the table. */
  readonly refusal: AppendRefusal | undefined;
  /** The rows that were found bad; not empty only together with a refusal. */
  readonly rowProblems: readonly RowProblem[];
  /** The table's columns when they changed since the connection was last told, or gave its writer schema. */
  readonly updatedColumns: readonly Column[] | undefined;
}

/** The stream and the writer schema that requests go by until they name others. */
interface Destination {
  readonly stream: StreamName;
  readonly descriptor: Buffer;
  readonly table: StoredTable;
}

export interface AppendLimits {
  readonly maxRequestBytes: number;
}

export class AppendConnection {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #limits: AppendLimits;
  #destination: Destination | undefined;
  /** Once stream or schema were changed, every request names its stream. */
  #hasSwitched = false;
  #missingOtherwise: Interpretation | undefined;
  /** The version of each table that the other side knows of. */
  readonly #knownVersions = new Map<StoredTable, number>();

  constructor(catalog: Catalog, clock: Clock, limits: AppendLimits) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Whether a request was understood so far: until then a missing table ends the connection. */
  get isEstablished(): boolean {
    return this.#destination !== undefined;
  }

  /** @param scripted row problems that a fault adds to those of the rows themselves */
  append(request: AppendRequest, scripted: readonly RowProblem[] = []): AppendOutcome {
    const stream = parseStreamName(request.writeStream) ?? this.#destination?.stream;
    const outcome = { stream: stream ? textOfStream(stream) : request.writeStream, rowProblems: [] };
    try {
      const destination = this.#destinationOf(request);
      const problems = this.#store(request, destination, scripted);
      const updatedColumns = this.#updatedColumns(destination.table);
      if (problems.length === 0) return { ...outcome, refusal: undefined, updatedColumns };
      const refusal = new AppendRefusal(
        "INVALID_ARGUMENT",
        `Errors found while processing rows: ${problems.length} of the request's rows are invalid`,
      );
      return { ...outcome, refusal, rowProblems: problems, updatedColumns };
    } catch (error) {
      return { ...outcome, refusal: asRefusal(error), updatedColumns: undefined };
    }
  }

  #destinationOf(request: AppendRequest): Destination {
    const before = this.#destination;
    const { maxRequestBytes } = this.#limits;
    if (request.byteLength > maxRequestBytes) {
      throw refused(`AppendRows request too large: ${request.byteLength} limit ${maxRequestBytes}`);
    }
    if (request.hasArrowRows) throw new AppendRefusal("UNIMPLEMENTED", "The embedded BigQuery takes no Arrow rows");
    if (request.writeStream === "" && (!before || this.#hasSwitched)) throw refused("write_stream must be specified");
    const stream = request.writeStream === "" ? before!.stream : streamOf(request.writeStream);
    const table = this.#catalog.findTable(stream);
    if (!table) throw tableNotFound(stream);
    const isSameStream = before !== undefined && textOfStream(before.stream) === textOfStream(stream);
    const descriptor = request.descriptor ?? (isSameStream ? before.descriptor : undefined);
    if (!descriptor) throw refused("Schema is missing: the first request to a table needs writer_schema");
    const isSameSchema = isSameStream && descriptor.equals(before.descriptor);
    if (isSameSchema && before.table === table) return before;
    if (before && !isSameSchema) this.#hasSwitched = true;
    this.#knownVersions.set(table, table.version);
    this.#destination = { stream, descriptor: Buffer.from(descriptor), table };
    return this.#destination;
  }

  #updatedColumns(table: StoredTable): readonly Column[] | undefined {
    if (this.#knownVersions.get(table) === table.version) return undefined;
    this.#knownVersions.set(table, table.version);
    return table.state.columns;
  }

  /** Stores the rows unless one of them is bad, and returns the bad ones. */
  #store(
    request: AppendRequest,
    { table, descriptor }: Destination,
    scripted: readonly RowProblem[],
  ): readonly RowProblem[] {
    if (request.hasOffset) throw refused("An offset is not allowed on the default stream");
    this.#missingOtherwise = request.missingOtherwise ?? this.#missingOtherwise;
    const missing: MissingValues = { otherwise: this.#missingOtherwise, byColumn: request.missingByColumn };
    const writer = table.writers.of(descriptor);
    checkNames(missing, table);
    const protoRows = request.protoRows ?? Buffer.alloc(0);
    const { count, problems } = checkRows(writer, missing, protoRows);
    if (count === 0) throw refused("Rows must be specified");
    const all = withScripted(problems, scripted, count);
    if (all.length > 0) return all;
    this.#catalog.append(table, {
      writer,
      missing,
      context: this.#context(),
      protoRows: Buffer.from(protoRows),
      count,
    });
    return [];
  }

  #context(): DefaultContext {
    return { atMicros: BigInt(Math.round(this.#clock.now() * 1000)), seed: randomUUID() };
  }
}

function refused(message: string): AppendRefusal {
  return new AppendRefusal("INVALID_ARGUMENT", message);
}

function asRefusal(error: unknown): AppendRefusal {
  if (error instanceof AppendRefusal) return error;
  if (error instanceof InvalidValue) return refused(`Invalid request: ${error.message}`);
  throw error;
}

/** @throws AppendRefusal unless it names a default stream */
function streamOf(text: string): StreamName {
  const stream = parseStreamName(text);
  if (!stream) throw refused("Invalid stream name. Expected projects/P/datasets/D/tables/T/streams/_default");
  if (stream.stream === "_default") return stream;
  throw new AppendRefusal("UNIMPLEMENTED", "The embedded BigQuery has default streams only");
}

/** What the service answers about a stream whose table is not there. */
export function tableNotFound(stream: StreamName): AppendRefusal {
  const entity = textOfStream(stream);
  const message = `Requested entity was not found. Entity: ${entity}`;
  return new AppendRefusal("NOT_FOUND", message, { code: "TABLE_NOT_FOUND", entity });
}

function checkNames({ byColumn }: MissingValues, table: StoredTable): void {
  const names = new Set(table.state.columns.map(({ name }) => name.toLowerCase()));
  const unknown = Object.keys(byColumn).find((name) => !names.has(name.toLowerCase()));
  if (unknown !== undefined) throw refused(`missing_value_interpretations names no column of the table: ${unknown}`);
}

function checkRows(
  writer: BoundWriter,
  missing: MissingValues,
  protoRows: Buffer,
): { count: number; problems: RowProblem[] } {
  const validator = writer.validator(missing);
  const problems: RowProblem[] = [];
  let count = 0;
  visitRows(protoRows, (start, end) => {
    const problem = validator.problemOf(protoRows, start, end);
    if (problem !== undefined) problems.push({ index: count, message: problem });
    count++;
  });
  return { count, problems };
}

function withScripted(
  problems: readonly RowProblem[],
  scripted: readonly RowProblem[],
  count: number,
): readonly RowProblem[] {
  const added = scripted.filter(({ index }) => index < count && !problems.some((problem) => problem.index === index));
  return [...problems, ...added].sort((a, b) => a.index - b.index);
}
