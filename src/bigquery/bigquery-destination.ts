/**
 * Messages into the rows of a BigQuery table, through the Storage Write API: the table's default stream, or streams of our own.
 *
 * What is guaranteed of order: rows of one ordering key are stored in the order of `deliver`, whatever fails on the way
 * (`key-lane.ts`). Of other rows nothing is: a request that BigQuery refuses is appended again behind those already sent.
 */
import type { Logger } from "pino";
import type { Destination } from "../destination.ts";
import { SetupError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { MemoryShare } from "../lib/memory-share.ts";
import { version } from "../lib/version.ts";
import { type MessageBatch, Outcomes, type PipelineState } from "../message.ts";
import { dottedName, tableName } from "../schema/table-reference.ts";
import type { TableSchema } from "../schema/table-schema.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { AppendOptions, BatchOptions } from "./append-options.ts";
import { Appender } from "./appender.ts";
import { traceOf } from "./contained-transcoding.ts";
import { type DestinationParts, type RemoteTable, remoteParts } from "./destination-parts.ts";
import { allAbandoned, Delivery, oldestPublishTimeMs } from "./delivery.ts";
import { DestinationState } from "./destination-state.ts";
import type { Trouble } from "./holds.ts";
import { Intake } from "./intake.ts";
import { type Delivering, openPool } from "./open-pool.ts";
import { rowRejected } from "./row-errors.ts";
import { RowTrial } from "./row-trial.ts";
import { SchemaWatch } from "./schema-watch.ts";
import type { WriteStreamCalls } from "./write-stream-calls.ts";

export interface BigQueryDestinationOptions extends RemoteTable {
  readonly delivery: Delivering;
  readonly batch: BatchOptions;
  /** Bytes that the rows of requests under way may take, gRPC's frames included. */
  readonly maxRowBytes: number;
  readonly append: AppendOptions;
  readonly schemaRefreshIntervalMs: number;
  /**
   * When a message with an ordering key is refused, what comes behind it in its key is given back with it: nobody else
   * takes the refused one. With a dead-letter topic the key goes on.
   */
  readonly refusedHoldsKey: boolean;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: AppendObserver;
}

/** After the last connection was closed for want of traffic, messages wait no longer for a look at the table. */
const maxRestMs = 2500;

/** A table that cannot be mapped is looked at so often, or as often as any. */
const mendedWithinMs = 5000;

/** So long before the end of a drain it is found out what became of appends without an answer. */
const concludeMs = 3000;

/** A message with an unknown field is refused without a further look at a table that was seen so recently. */
const recentMs = 3000;

export class BigQueryDestination implements Destination {
  readonly #options: BigQueryDestinationOptions;
  /** As a person names it. */
  readonly #tableName: string;
  readonly #compile: (table: TableSchema) => Transcoder;
  readonly #watch: SchemaWatch;
  readonly #appender: Appender;
  readonly #intake: Intake;
  readonly #writeStreams: WriteStreamCalls;
  readonly #state: DestinationState;
  readonly #deliveries = new Set<Delivery>();
  readonly #opened = Promise.withResolvers<void>();
  /** The table's schema can be read, but not mapped. */
  #mappingTrouble: Trouble | undefined;
  #idle: (() => void) | undefined;

  constructor(options: BigQueryDestinationOptions, parts: DestinationParts = remoteParts(options)) {
    this.#options = options;
    this.#compile = parts.compile;
    const { clock, log, observer, batch, append, refusedHoldsKey } = options;
    const { random, openCall, writeStreams } = parts;
    this.#writeStreams = writeStreams;
    this.#tableName = dottedName(options.table);
    this.#state = new DestinationState({ table: this.#tableName, log, trouble: () => this.#trouble });
    const writeStream = `${tableName(options.table)}/streams/_default`;
    const traceId = `millrace:${version()}`;
    const memory = new MemoryShare(options.maxRowBytes);
    const common = { append, clock, observer, refusedHoldsKey, memory };
    this.#watch = new SchemaWatch({
      fetch: parts.fetchTable,
      intervalMs: () => this.#schemaIntervalMs,
      clock,
      random,
      observer,
      changed: (schema) => this.#schemaChanged(schema),
      looked: () => {
        this.#intake.goOn();
        this.#state.note();
      },
    });
    this.#appender = new Appender({
      ...common,
      openPool: (events) => openPool({ ...options, ...parts, writeStream, traceId }, events),
      random,
      trial: new RowTrial({ openCall, calls: writeStreams, traceId, clock }),
      progressed: () => this.#progressed(),
      schemaUpdated: () => this.#watch.refreshSoon(),
      disconnected: () => this.#intake.rest(maxRestMs),
      outdated: (transcoder) => this.#outdated(transcoder),
      transcodeAgain: (request) => this.#intake.transcodeAgain(request),
      rowRejected: (serverMessage) => rowRejected(serverMessage, this.#watch.schema),
    });
    this.#intake = new Intake({
      ...common,
      batch,
      writeStream,
      traceId,
      room: () => this.#appender.room,
      submit: (request) => this.#appender.submit(request),
      sawTableAfter: (wallMs) => this.#watch.sawAfter(wallMs, recentMs),
      refresh: () => this.#watch.refresh(),
      failed: (error, messages) => {
        log.error({ ...traceOf(error), messages }, "messages could not be transcoded: a defect of Millrace");
      },
    });
  }

  get state(): PipelineState {
    return this.#state.state;
  }

  get stateReason(): string {
    return this.#state.reason;
  }

  get #schemaIntervalMs(): number {
    const { schemaRefreshIntervalMs } = this.#options;
    return this.#mappingTrouble ? Math.min(mendedWithinMs, schemaRefreshIntervalMs) : schemaRefreshIntervalMs;
  }

  get #trouble(): Trouble | undefined {
    const schemaNeeded = !this.#intake.transcoder || this.#watch.awaited;
    return this.#mappingTrouble ?? (schemaNeeded ? this.#watch.trouble : undefined) ?? this.#appendTrouble;
  }

  get #appendTrouble(): Trouble | undefined {
    const { trouble } = this.#appender;
    if (trouble?.state !== "UNAVAILABLE") return trouble;
    const { host, port } = this.#options.storageEndpoint;
    return { ...trouble, reason: `${trouble.reason} (${host}:${port})` };
  }

  /** Resolves when the table's schema is known and mapped, or when `signal` is aborted. */
  async open(signal: AbortSignal): Promise<void> {
    const given = Promise.withResolvers<void>();
    const giveUp = (): void => given.resolve();
    if (signal.aborted) return;
    signal.addEventListener("abort", giveUp, { once: true });
    this.#watch.refreshSoon();
    await Promise.race([this.#opened.promise, given.promise]);
    signal.removeEventListener("abort", giveUp);
  }

  async deliver(batch: MessageBatch, signal: AbortSignal): Promise<Outcomes> {
    if (signal.aborted || this.#state.phase === "STOPPED") return allAbandoned(batch);
    if (batch.length === 0) return new Outcomes(0);
    const delivery = new Delivery(batch, signal, () => this.#settled(delivery));
    const abandon = (): void => this.#abandon((other) => other.signal.aborted);
    signal.addEventListener("abort", abandon, { once: true });
    this.#deliveries.add(delivery);
    this.#intake.add(delivery);
    const outcomes = await delivery.outcomes;
    signal.removeEventListener("abort", abandon);
    return outcomes;
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#state.phase = "DRAINING";
    this.#intake.hurry();
    if (this.#deliveries.size === 0) return;
    const idle = Promise.withResolvers<void>();
    this.#idle = idle.resolve;
    const { clock, delivery } = this.#options;
    const leftMs = deadlineMs - clock.monotonic();
    const timers = [clock.setTimer(() => this.#abandon(() => true), leftMs)];
    if (delivery === "exactlyOnce") {
      timers.push(clock.setTimer(() => this.#appender.conclude(), leftMs - Math.min(concludeMs, leftMs / 4)));
    }
    await idle.promise;
    for (const timer of timers) timer.cancel();
  }

  async close(): Promise<void> {
    this.#state.phase = "STOPPED";
    this.#abandon(() => true);
    this.#watch.close();
    const closed = this.#appender.close();
    this.#intake.close();
    this.#opened.resolve();
    await closed;
    this.#writeStreams.close();
  }

  #settled(delivery: Delivery): void {
    const { clock, observer } = this.#options;
    this.#deliveries.delete(delivery);
    this.#intake.settled(delivery);
    const { batch } = delivery;
    if (!delivery.abandoned) observer.committed(batch.length, (clock.now() - oldestPublishTimeMs(batch)) / 1000);
    if (this.#deliveries.size === 0) this.#idle?.();
  }

  #abandon(given: (delivery: Delivery) => boolean): void {
    this.#intake.abandon(given);
    for (const request of this.#appender.unresolved()) request.abandon(given);
  }

  #schemaChanged(schema: TableSchema): void {
    try {
      this.#intake.use(this.#compile(schema));
      this.#mappingTrouble = undefined;
      this.#options.log.info({ table: this.#tableName, columns: schema.columns.length }, "table schema read");
      this.#state.begin();
      this.#opened.resolve();
    } catch (error) {
      this.#mappingTrouble = { state: "SCHEMA_MISMATCH", reason: this.#whyNotMapped(error) };
      this.#intake.use(undefined);
    }
    this.#state.note();
  }

  #whyNotMapped(error: unknown): string {
    if (error instanceof SetupError) return error.message;
    this.#options.log.error({ err: error }, "mapping failed to compile");
    return "the mapping failed to compile, which is a defect of Millrace: see the log";
  }

  async #outdated(transcoder: Transcoder): Promise<boolean> {
    await this.#watch.refresh();
    return this.#intake.transcoder !== transcoder;
  }

  #progressed(): void {
    this.#intake.pump();
    this.#state.note();
  }
}
