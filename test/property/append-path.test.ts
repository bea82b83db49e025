/**
 * The append path against a server that misbehaves at random: whatever it does, every message has one fate in the
 * end, and it is the true one. `PROPERTY_SEED` repeats a run, `PROPERTY_RUNS` sets how many there are.
 */
import { status } from "@grpc/grpc-js";
import { pino } from "pino";
import { expect, test } from "vitest";
import type { AppendObserver } from "../../src/bigquery/append-observer.ts";
import { BigQueryDestination } from "../../src/bigquery/bigquery-destination.ts";
import { TableUnavailable } from "../../src/bigquery/tables.ts";
import type { Outcomes } from "../../src/message.ts";
import { type FakeAnswer, FakeAppendService, type SentRequest } from "../support/fake-append-service.ts";
import { FakeTranscoder } from "../support/fake-transcoder.ts";
import { PayloadBatch } from "../support/payload-batch.ts";
import { choicesOf } from "../support/random-choices.ts";
import { VirtualClock } from "../support/virtual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";

const endpoint = { host: "127.0.0.1", port: 1, plaintext: true };
const runs = Number(process.env["PROPERTY_RUNS"] ?? 150);

const observer = new Proxy({} as AppendObserver, { get: () => () => undefined });

class Storm {
  readonly clock = new VirtualClock();
  readonly service = new FakeAppendService();
  readonly stored = new Map<string, number>();
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
  fields = ["a"];
  calm = false;
  readonly #queues = new Map<number, (() => void)[]>();

  constructor(start: number) {
    const choose = choicesOf(start);
    this.random = () => choose(0, 2 ** 31 - 1) / 2 ** 31;
    this.service.react = (request) => this.#react(request);
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
    queue.push(() => this.#serve(request));
    this.clock.setTimer(() => queue.shift()?.(), this.below(30));
    return undefined;
  }

  #serve(request: SentRequest): void {
    if (!this.calm && this.chance(0.06)) {
      if (this.chance(0.5)) this.#store(request);
      this.#queues.set(request.call, []);
      request.end({
        code: this.#pick([status.UNAVAILABLE, status.INTERNAL, status.PERMISSION_DENIED, status.ABORTED]),
      });
      return;
    }
    request.answer(this.#answerTo(request));
  }

  #answerTo(request: SentRequest): FakeAnswer {
    const invalid = status.INVALID_ARGUMENT;
    if (!this.calm && this.chance(0.1)) {
      const code = this.#pick([status.ABORTED, status.RESOURCE_EXHAUSTED, status.NOT_FOUND, status.CANCELLED]);
      return { error: { code, message: "for a while" } };
    }
    if (request.rows.length > 12) return { error: { code: invalid, message: "request too large" } };
    if (request.rows.some((row) => row.startsWith("field") && !this.fields.includes(row.split(" ")[1]!))) {
      return { error: { code: invalid, message: "extra", storageError: 7 } };
    }
    const poisoned = [...request.rows.entries()].filter(([, row]) => row.startsWith("poison"));
    if (poisoned.length > 0) {
      const named = poisoned.filter((_, i) => i === 0 || this.chance(0.5));
      return { error: { code: invalid }, rowErrors: named.map(([index]) => ({ index, message: "poison" })) };
    }
    if (request.rows.some((row) => row.startsWith("mystery"))) return { error: { code: invalid, message: "no" } };
    this.#store(request);
    return this.chance(0.05) ? { updatedSchema: {} } : {};
  }

  #store({ rows }: SentRequest): void {
    if (rows.length > 12 || rows.some((row) => /^(?:poison|mystery)/.test(row))) return;
    for (const row of rows) this.stored.set(row, (this.stored.get(row) ?? 0) + 1);
  }

  #pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  /** A message of some kind, with a number that no other has. */
  payload(number: number): string {
    if (this.chance(0.03)) return `bad ${number}`;
    if (this.chance(0.03)) return `poison ${number}`;
    if (this.chance(0.01)) return `mystery ${number}`;
    if (this.chance(0.03)) return `field nonsense ${number}`;
    if (this.chance(0.05)) return `field late ${number}`;
    return `good ${number}`;
  }
}

const fateOf: Readonly<Record<string, string>> = {
  bad: "TYPE_MISMATCH",
  poison: "ROW_REJECTED",
  mystery: "ROW_REJECTED",
  "field nonsense": "UNKNOWN_FIELD",
  "field late": "durable",
  good: "durable",
};

test(`every message has its one true fate (PROPERTY_SEED=${propertySeed}, ${runs} runs)`, async () => {
  for (let run = 0; run < runs; run++) {
    const { told, written, payloads } = await weather(propertySeed + run);
    const expected = payloads.map(expectedFate);
    expect(told, `PROPERTY_SEED=${propertySeed + run} PROPERTY_RUNS=1`).toEqual(expected);
    const shouldBeWritten = expected.map((fate) => fate === "durable");
    expect(written, `PROPERTY_SEED=${propertySeed + run} PROPERTY_RUNS=1`).toEqual(shouldBeWritten);
  }
}, 120_000);

interface Reckoning {
  readonly payloads: readonly string[];
  /** What was told of each message. */
  readonly told: readonly string[];
  /** The server has its row. */
  readonly written: readonly boolean[];
}

async function weather(start: number): Promise<Reckoning> {
  const storm = new Storm(start);
  const { clock } = storm;
  const to = new BigQueryDestination(
    {
      table: { project: "p", dataset: "d", table: "t" },
      mapping: undefined as never,
      restEndpoint: endpoint,
      storageEndpoint: endpoint,
      credentials: undefined,
      batch: { maxBytes: 300, maxRows: 1 + storm.below(30), maxDelayMs: 20 },
      append: {
        maxInFlight: 1 + storm.below(5),
        minConnections: 1 + storm.below(2),
        maxConnections: 3,
        maxRequestBytes: 9000,
      },
      schemaRefreshIntervalMs: 60_000,
      refusedHoldsKey: false,
      clock,
      log: pino({ level: "silent" }),
      observer,
    },
    {
      fetchTable: async () => {
        await new Promise<void>((resolve) => void clock.setTimer(resolve, storm.below(50)));
        if (!storm.calm && storm.chance(0.2)) throw new TableUnavailable({ state: "UNAVAILABLE", reason: "storm" });
        const fields = [...storm.fields];
        return {
          columns: fields.map((name) => ({ name, type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false })),
          primaryKey: [],
        };
      },
      compile: (schema) => new FakeTranscoder(schema.columns.map(({ name }) => name)),
      openCall: storm.service.openCall,
      random: storm.random,
    },
  );
  void to.open(new AbortController().signal);
  const delivered: { readonly payloads: readonly string[]; outcomes?: Outcomes }[] = [];
  let number = 0;
  for (let step = 0; step < 30; step++) {
    if (step === 10) storm.fields = ["a", "late"];
    const payloads = Array.from({ length: storm.below(40) }, () => storm.payload(number++)).filter(
      (payload) => step > 10 || !payload.startsWith("field late"),
    );
    const entry: (typeof delivered)[number] = { payloads };
    delivered.push(entry);
    void to
      .deliver(batchOf(payloads, clock), new AbortController().signal)
      .then((outcomes) => Object.assign(entry, { outcomes }));
    await clock.advance(storm.below(2000));
  }
  storm.calm = true;
  // A row that nobody names is blamed once others go in.
  for (let i = 0; i < 40 && delivered.some(({ outcomes }) => !outcomes); i++) {
    void to.deliver(batchOf([`good ${number++}`], clock), new AbortController().signal);
    await clock.advance(60_000);
  }
  await to.close();
  await clock.advance(0);
  const payloads = delivered.flatMap((entry) => entry.payloads);
  const told = delivered.flatMap((entry) =>
    entry.payloads.map((_, i) => (entry.outcomes ? word(entry.outcomes, i) : "no fate")),
  );
  return { payloads, told, written: payloads.map((payload) => storm.stored.has(payload)) };
}

function batchOf(payloads: readonly string[], clock: VirtualClock): PayloadBatch {
  return new PayloadBatch(
    payloads.map((payload) => Buffer.from(payload)),
    { messageId: "m", publishTimeMicros: BigInt(clock.now() * 1000), attributes: new Map(), orderingKey: "" },
  );
}

function word(outcomes: Outcomes, i: number): string {
  const outcome = outcomes.at(i);
  return outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
}

function expectedFate(payload: string): string {
  return fateOf[payload.replace(/ \d+$/, "")]!;
}
