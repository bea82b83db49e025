/** The destination on a virtual clock, between an append service and a table that are the test's. */
import { pino } from "pino";
import { afterEach, beforeEach } from "vitest";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import { BigQueryDestination, type BigQueryDestinationOptions } from "../../src/bigquery/bigquery-destination.ts";
import { SetupError } from "../../src/errors.ts";
import type { MessageBatch, Outcomes } from "../../src/message.ts";
import type { TableSchema } from "../../src/schema/table-schema.ts";
import type { Transcoder } from "../../src/transcode/transcoder.ts";
import { FakeAppendService, type SentRequest } from "./fake-append-service.ts";
import { FakeWriteStreams } from "./fake-write-streams.ts";
import { FakeTranscoder } from "./fake-transcoder.ts";
import { tableMode } from "./mapping-options.ts";
import { PayloadBatch } from "./payload-batch.ts";
import { VirtualClock } from "./virtual-clock.ts";

const startMs = 1_700_000_000_000;
const endpoint = { host: "127.0.0.1", port: 1, plaintext: true };

export const tableOf = (...fields: string[]): TableSchema => ({
  columns: fields.map((name) => ({ name, type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false })),
  primaryKey: [],
});

export const names = (count: number, letter = "r"): string[] =>
  Array.from({ length: count }, (_, i) => `${letter}${i}`);
export const durable = (count: number): string[] => Array.from({ length: count }, () => "durable");

export interface Delivered {
  outcomes?: Outcomes;
}

/** One word for each message. */
export function fates({ outcomes }: Delivered): string[] | undefined {
  if (!outcomes) return undefined;
  return Array.from({ length: outcomes.length }, (_, i) => {
    const outcome = outcomes.at(i);
    return outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
  });
}

export class DestinationRig {
  readonly clock = new VirtualClock(startMs);
  readonly service = new FakeAppendService();
  readonly writeStreams = new FakeWriteStreams();
  /** What tables.get answers. */
  table: TableSchema | Error = tableOf("a");
  fetches = 0;
  /** Full jitter at its most: every pause is as long as it may be. */
  random = (): number => 1;
  /** Compiles a table with these columns. */
  compile = (fields: readonly string[]): Transcoder => new FakeTranscoder(fields);
  /** What the observer was told. */
  readonly events: string[] = [];
  readonly #observer: AppendObserver = {
    appended: (rows) => this.events.push(`appended ${rows}`),
    committed: (messages, seconds) => this.events.push(`committed ${messages} after ${seconds.toFixed(3)}`),
    refused: (code, messages) => this.events.push(`refused ${code} ${messages}`),
    retried: (reason, requests) => this.events.push(`retried ${reason} ${requests}`),
    inFlight: () => undefined,
    connections: () => undefined,
    writeStream: (event) => this.events.push(`stream ${event}`),
    alreadyStored: (rows) => this.events.push(`already stored ${rows}`),
    outcomeUnknown: (rows) => this.events.push(`unknown ${rows}`),
    schemaRefreshed: () => undefined,
  };

  destination(options: Partial<BigQueryDestinationOptions> = {}): BigQueryDestination {
    return new BigQueryDestination(
      {
        table: { project: "p", dataset: "d", table: "t" },
        mapping: { ...tableMode, subscription: "s" },
        restEndpoint: endpoint,
        storageEndpoint: endpoint,
        credentials: undefined,
        batch: { maxBytes: 1 << 20, maxRows: 1000, maxDelayMs: 20 },
        append: { maxInFlight: 2, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 },
        schemaRefreshIntervalMs: 60_000,
        maxRowBytes: 25 * 1024 * 1024,
        refusedHoldsKey: false,
        delivery: "atLeastOnce",
        clock: this.clock,
        log: pino({ level: "silent" }),
        observer: this.#observer,
        ...options,
      },
      {
        fetchTable: async () => {
          this.fetches++;
          await Promise.resolve();
          if (this.table instanceof Error) throw this.table;
          return this.table;
        },
        compile: (schema) => {
          const fields = schema.columns.map(({ name }) => name);
          if (fields.includes("unmappable")) throw new SetupError("column unmappable: no such type");
          return this.compile(fields);
        },
        openCall: this.service.openCall,
        writeStreams: this.writeStreams,
        random: () => this.random(),
      },
    );
  }

  async opened(options: Partial<BigQueryDestinationOptions> = {}): Promise<BigQueryDestination> {
    const made = this.destination(options);
    void made.open(new AbortController().signal);
    await this.clock.advance(0);
    if (made.state !== "ACTIVE") throw new Error(`the destination is ${made.state}`);
    return made;
  }

  /** A batch of messages published `ageMs` ago. */
  batchOf(payloads: readonly string[], ageMs = 0): PayloadBatch {
    return new PayloadBatch(
      payloads.map((payload) => Buffer.from(payload)),
      {
        messageId: "m",
        publishTimeMicros: BigInt(Math.round((this.clock.now() - ageMs) * 1000)),
        attributes: new Map(),
        orderingKey: "",
      },
    );
  }

  /** Delivers payloads; the outcomes are there once they are known. */
  deliver(to: BigQueryDestination, payloads: readonly string[], ageMs = 0): Delivered {
    return deliverBatch(to, this.batchOf(payloads, ageMs));
  }

  /** The request that was sent last. */
  last(): SentRequest {
    return this.service.requests.at(-1)!;
  }
}

export function deliverBatch(to: BigQueryDestination, batch: MessageBatch, signal?: AbortSignal): Delivered {
  const delivered: Delivered = {};
  void to.deliver(batch, signal ?? new AbortController().signal).then((outcomes) => {
    delivered.outcomes = outcomes;
  });
  return delivered;
}

/** Fails a test after which a promise was rejected and nobody looked. */
export function watchRejections(): void {
  let rejections: unknown[];
  const note = (reason: unknown): void => void rejections.push(reason);
  beforeEach(() => {
    rejections = [];
    process.on("unhandledRejection", note);
  });
  afterEach(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    if (rejections.length > 0) throw new Error("a promise was rejected and nobody looked", { cause: rejections[0] });
  });
}
