/**
 * The destination in the midst of an append service and a tables.get that misbehave at random: errors of all kinds,
 * lost connections, answers that get lost, rows refused with and without a name.
 */
import { status } from "@grpc/grpc-js";
import { pino } from "pino";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import { BigQueryDestination, type BigQueryDestinationOptions } from "../../src/bigquery/bigquery-destination.ts";
import { TableUnavailable } from "../../src/bigquery/tables.ts";
import { type FakeAnswer, FakeAppendService, type SentRequest } from "./fake-append-service.ts";
import { FakeWriteStreams, isPending } from "./fake-write-streams.ts";
import { FakeTranscoder } from "./fake-transcoder.ts";
import { tableMode } from "./mapping-options.ts";
import { choicesOf } from "./random-choices.ts";
import { VirtualClock } from "./virtual-clock.ts";

const endpoint = { host: "127.0.0.1", port: 1, plaintext: true };
const observer = new Proxy({} as AppendObserver, { get: () => () => undefined });

/** A row that begins with `poison` is refused by name, at times; one with `mystery` without; the words after `field` are columns. */
export class AppendStorm {
  readonly clock = new VirtualClock();
  readonly service = new FakeAppendService();
  readonly writeStreams = new FakeWriteStreams();
  /** Row → how often it was stored. */
  readonly stored = new Map<string, number>();
  /** Every row as it was stored. */
  readonly table: string[] = [];
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  /** Columns of the table. */
  fields = ["a"];
  /** Nothing goes wrong any more but what rows bring about. */
  calm = false;
  readonly #delivery: BigQueryDestinationOptions["delivery"];
  readonly #queues = new Map<number, SentRequest[]>();

  /** @param delivery `exactlyOnce`: failures may hide an effect, and late requests have one */
  constructor(start: number, delivery: BigQueryDestinationOptions["delivery"] = "atLeastOnce") {
    this.#delivery = delivery;
    const choose = choicesOf(start);
    this.random = () => choose(0, 2 ** 31 - 1) / 2 ** 31;
    this.service.react = (request) => this.#react(request);
    this.writeStreams.rowsFirst = this.#exactlyOnce && this.chance(0.5);
  }

  get #exactlyOnce(): boolean {
    return this.#delivery === "exactlyOnce";
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  /** Answers of one connection come in order, each after a random while. */
  #react(request: SentRequest): undefined {
    const queue = this.#queues.get(request.call) ?? [];
    this.#queues.set(request.call, queue);
    queue.push(request);
    if (this.#exactlyOnce && !this.calm && this.chance(0.02)) this.#disturbStreams();
    this.clock.setTimer(() => {
      const next = queue.shift();
      if (next) this.#serve(next);
    }, this.below(30));
    return undefined;
  }

  #serve(request: SentRequest): void {
    if (!this.calm && this.chance(0.06)) {
      // What came before the end may have been stored without an answer, in order.
      const lost = [request, ...this.#queues.get(request.call)!.splice(0)];
      const stored = this.below(lost.length + 1);
      for (const each of lost.slice(0, stored)) this.#effectOf(each);
      request.end({
        code: this.#pick([status.UNAVAILABLE, status.INTERNAL, status.PERMISSION_DENIED, status.ABORTED]),
      });
      if (this.#exactlyOnce) this.#arriveLate(lost.slice(stored));
      return;
    }
    request.answer(this.#answerTo(request));
  }

  /** What a cut connection has carried may take effect when others are open; on a default stream that is one more copy. */
  #arriveLate(requests: readonly SentRequest[]): void {
    const late = requests.slice(0, this.below(requests.length + 1));
    for (const request of late) this.clock.setTimer(() => this.#effectOf(request), this.below(500));
  }

  #answerTo(request: SentRequest): FakeAnswer {
    if (!this.calm && this.chance(0.1)) {
      const code = this.#pick([status.ABORTED, status.RESOURCE_EXHAUSTED, status.NOT_FOUND, status.CANCELLED]);
      if (this.#exactlyOnce && this.chance(0.5)) this.#effectOf(request);
      // With an offset a plain NOT_FOUND would mean the stream.
      return { error: { code, message: "for a while", ...(code === status.NOT_FOUND && { storageError: 1 }) } };
    }
    const answer = this.#effectOf(request);
    return !answer.error && this.chance(0.05) ? { updatedSchema: {} } : answer;
  }

  /** Stores the rows if they can be. Returns the answer to that. */
  #effectOf(request: SentRequest): FakeAnswer {
    const refusal = this.#refusalOf(request);
    if (isPending(request.openedTo)) return refusal ?? {};
    if (this.#exactlyOnce) {
      const answer = this.writeStreams.append(request, refusal);
      if (!answer.error) this.#store(request);
      return answer;
    }
    if (!refusal) this.#store(request);
    return refusal ?? {};
  }

  #refusalOf({ rows }: SentRequest): FakeAnswer | undefined {
    const invalid = status.INVALID_ARGUMENT;
    if (rows.length > 12) return { error: { code: invalid, message: "request too large" } };
    if (!rows.every((row) => this.#hasColumn(row))) {
      return { error: { code: invalid, message: "extra", storageError: 7 } };
    }
    const poisoned = [...rows.entries()].filter(([, row]) => row.startsWith("poison"));
    if (poisoned.length > 0) {
      const named = poisoned.filter((_, i) => i === 0 || this.chance(0.5));
      return { error: { code: invalid }, rowErrors: named.map(([index]) => ({ index, message: "poison" })) };
    }
    return rows.some((row) => row.startsWith("mystery")) ? { error: { code: invalid, message: "no" } } : undefined;
  }

  #store({ rows }: SentRequest): void {
    for (const row of rows) {
      this.stored.set(row, (this.stored.get(row) ?? 0) + 1);
      this.table.push(row);
    }
  }

  /** Calls about write streams fail at times, and others finalize streams. */
  #disturbStreams(): void {
    const { streams, creationFailures, finalizationFailures } = this.writeStreams;
    const failure = { code: this.#pick([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED, status.PERMISSION_DENIED]) };
    if (this.chance(0.2)) creationFailures.push(failure);
    if (this.chance(0.2)) finalizationFailures.push(failure);
    if (this.chance(0.1)) [...streams.values()][this.below(streams.size)]!.finalized = true;
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  #hasColumn(row: string): boolean {
    return !row.startsWith("field") || this.fields.includes(row.split(" ")[1]!);
  }

  destination(refusedHoldsKey = false): BigQueryDestination {
    const { clock } = this;
    return new BigQueryDestination(
      {
        table: { project: "p", dataset: "d", table: "t" },
        mapping: tableMode,
        restEndpoint: endpoint,
        storageEndpoint: endpoint,
        credentials: undefined,
        batch: { maxBytes: 300, maxRows: 1 + this.below(30), maxDelayMs: 20 },
        append: {
          maxInFlight: 1 + this.below(5),
          minConnections: 1 + this.below(2),
          maxConnections: 3,
          maxRequestBytes: 9000,
        },
        schemaRefreshIntervalMs: 60_000,
        maxRowBytes: 25 * 1024 * 1024,
        refusedHoldsKey,
        delivery: this.#delivery,
        clock,
        log: pino({ level: "silent" }),
        observer,
      },
      {
        fetchTable: async () => {
          await new Promise<void>((resolve) => void clock.setTimer(resolve, this.below(50)));
          if (!this.calm && this.chance(0.2)) throw new TableUnavailable({ state: "UNAVAILABLE", reason: "storm" });
          const fields = [...this.fields];
          return {
            columns: fields.map((name) => ({ name, type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false })),
            primaryKey: [],
          };
        },
        compile: (schema) => new FakeTranscoder(schema.columns.map(({ name }) => name)),
        openCall: this.service.openCall,
        writeStreams: this.writeStreams,
        random: this.random,
      },
    );
  }
}
