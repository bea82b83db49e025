/** What one AppendRows connection remembers, and how each of its requests is judged and stored. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { type Destination, Destinations, type Propagation } from "./append-destination.ts";
import { AppendRefusal } from "./append-refusal.ts";
import type { AppendRequest } from "./append-request.ts";
import type { BoundWriter } from "./bound-writer.ts";
import type { Catalog } from "./catalog.ts";
import { InvalidValue } from "./cell.ts";
import type { Column, DefaultContext } from "./column.ts";
import type { Interpretation, MissingValues } from "./missing-values.ts";
import type { RateLimit } from "./rate-limit.ts";
import { visitRows } from "./proto-rows.ts";
import { wrongOffset } from "./stream-refusal.ts";
import { parseStreamName, textOfStream } from "./table-name.ts";
import type { TableVersion } from "./table-version.ts";
import type { WriteStream } from "./write-stream.ts";

export interface RowProblem {
  readonly index: number;
  readonly message: string;
}

/** What the answer to a request says. */
export interface AppendOutcome {
  /** Full name of the stream. */
  readonly stream: string;
  /** Undefined when the rows are stored. */
  readonly refusal: AppendRefusal | undefined;
  /** Where in a stream that was created the rows begin; undefined on default streams. */
  readonly offset: number | undefined;
  /** The rows that were found bad; not empty only together with a refusal. */
  readonly rowProblems: readonly RowProblem[];
  /** The table's columns when they changed since the connection was last told, or gave its writer schema. */
  readonly updatedColumns: readonly Column[] | undefined;
}

export interface AppendSettings extends Propagation {
  readonly maxRequestBytes: number;
  /** Bytes of requests on all connections together. */
  readonly throughput?: RateLimit;
}

export class AppendConnection {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  readonly #settings: AppendSettings;
  readonly #destinations: Destinations;
  #missingOtherwise: Interpretation | undefined;

  constructor(catalog: Catalog, clock: Clock, settings: AppendSettings) {
    this.#catalog = catalog;
    this.#clock = clock;
    this.#settings = settings;
    this.#destinations = new Destinations(catalog, settings);
  }

  /** Whether a request was understood so far: until then a missing table or stream ends the connection. */
  get isEstablished(): boolean {
    return this.#destinations.current !== undefined;
  }

  /** The stream that it writes to, if it is one that was created. */
  get writeStream(): WriteStream | undefined {
    return this.#destinations.current?.stream;
  }

  /** Resource name of the stream of the last request that was understood; empty before the first. */
  get entity(): string {
    return this.#destinations.current?.entity ?? "";
  }

  /** @param scripted row problems that a fault adds to those of the rows themselves */
  append(request: AppendRequest, scripted: readonly RowProblem[] = []): AppendOutcome {
    try {
      this.#checkForm(request);
      const nowMs = this.#clock.now();
      const destination = this.#destinations.of(request, nowMs);
      const version = this.#destinations.version(destination, nowMs);
      const { offset, problems } = this.#store(request, destination, version, scripted);
      const updatedColumns = this.#destinations.updatedColumns(destination, version);
      const stream = destination.entity;
      return { stream, refusal: refusalOf(problems), offset, rowProblems: problems, updatedColumns };
    } catch (error) {
      const stream = this.#nameOf(request);
      return { stream, refusal: asRefusal(error), offset: undefined, rowProblems: [], updatedColumns: undefined };
    }
  }

  #nameOf({ writeStream }: AppendRequest): string {
    const stream = parseStreamName(writeStream);
    if (stream) return textOfStream(stream);
    return writeStream === "" ? this.entity : writeStream;
  }

  #checkForm({ byteLength, hasArrowRows }: AppendRequest): void {
    const { maxRequestBytes, throughput } = this.#settings;
    if (byteLength > maxRequestBytes) {
      throw refused(`AppendRows request too large: ${byteLength} limit ${maxRequestBytes}`);
    }
    if (hasArrowRows) throw new AppendRefusal("UNIMPLEMENTED", "The embedded BigQuery takes no Arrow rows");
    if (throughput && !throughput.take(byteLength)) {
      throw new AppendRefusal("RESOURCE_EXHAUSTED", "Exceeds 'AppendRows throughput' quota. Try again later");
    }
  }

  /** Stores the rows unless one of them is bad, and returns the bad ones. */
  #store(
    request: AppendRequest,
    destination: Destination,
    version: TableVersion,
    scripted: readonly RowProblem[],
  ): { readonly offset: number | undefined; readonly problems: readonly RowProblem[] } {
    const { entity, table, stream, descriptor } = destination;
    checkOffset(request, destination);
    this.#missingOtherwise = request.missingOtherwise ?? this.#missingOtherwise;
    const missing: MissingValues = { otherwise: this.#missingOtherwise, byColumn: request.missingByColumn };
    const writer = version.writers.of(descriptor, entity);
    checkNames(missing, version);
    const protoRows = request.protoRows ?? Buffer.alloc(0);
    const { count, problems } = checkRows(writer, missing, protoRows);
    if (count === 0) throw refused("Rows must be specified");
    const all = withScripted(problems, scripted, count);
    const offset = stream?.rowCount;
    if (all.length > 0) return { offset, problems: all };
    const context = this.#context();
    const batch = { writer, missing, context, protoRows: Buffer.from(protoRows), count, firstRow: 0 };
    this.#catalog.append(table, batch, stream);
    return { offset, problems: [] };
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

function refusalOf({ length }: readonly RowProblem[]): AppendRefusal | undefined {
  if (length === 0) return undefined;
  return refused(`Errors found while processing rows: ${length} of the request's rows are invalid`);
}

/** @throws AppendRefusal unless the rows belong at the end of the stream */
function checkOffset({ offset }: AppendRequest, { stream, entity }: Destination): void {
  if (offset === undefined) return;
  if (!stream) throw refused(`An offset is not allowed on the default stream. Entity: ${entity}`);
  if (offset < 0) throw refused(`Offset must not be negative. Entity: ${entity}`);
  if (offset !== stream.rowCount) throw wrongOffset(entity, stream.rowCount, offset);
}

function checkNames({ byColumn }: MissingValues, { columns }: TableVersion): void {
  const names = new Set(columns.map(({ name }) => name.toLowerCase()));
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
