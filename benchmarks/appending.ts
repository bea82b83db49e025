/**
 * `npm run bench:append`: what the append path costs, without a network. Rows go through the destination to an
 * append service that stores everything after a fixed time; prints rows per second of wall time and of CPU time.
 */
import { parseArgs } from "node:util";
import { pino } from "pino";
import type { OpenCall } from "../src/bigquery/append-call.ts";
import { BigQueryDestination } from "../src/bigquery/bigquery-destination.ts";
import { systemClock } from "../src/lib/clock.ts";
import type { TableSchema } from "../src/schema/table-schema.ts";
import { createTranscoder } from "../src/transcode/transcoder.ts";
import { answerBytes } from "../test/support/fake-append-service.ts";
import { tableMode } from "../test/support/mapping-options.ts";
import { PayloadBatch } from "../test/support/payload-batch.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "500000" },
    /** Ordering keys, dealt in turn; 0: none. */
    keys: { type: "string", default: "0" },
    /** Milliseconds from a request to its answer. */
    "answer-ms": { type: "string", default: "0" },
    /** Messages that may be held at once, as `pull.maxOutstandingMessages`. */
    outstanding: { type: "string", default: "20000" },
    delivery: { type: "string", default: "atLeastOnce" },
  },
});
const rows = Number(values.rows);
const keys = Number(values.keys);
const delivery = values.delivery === "exactlyOnce" ? "exactlyOnce" : "atLeastOnce";
const answerMs = Number(values["answer-ms"]);
const perBatch = 500;
const batchesAtOnce = Math.max(1, Math.floor(Number(values.outstanding) / perBatch));

const table: TableSchema = {
  columns: [
    { name: "id", type: "INT64", mode: "REQUIRED", fields: [], hasDefault: false },
    { name: "note", type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false },
  ],
  primaryKey: [],
};

let requests = 0;
const storedBytes = answerBytes({});

/** Stores everything, in order, each request so long after it came. */
const openCall: OpenCall = (events) => ({
  write: () => {
    requests++;
    if (answerMs === 0) setImmediate(() => events.answered(storedBytes));
    else setTimeout(() => events.answered(storedBytes), answerMs);
  },
  end: () => events.ended({ code: 0, message: "", storageError: 0 }),
  cancel: () => undefined,
});

const ignore = (): void => undefined;
const endpoint = { host: "127.0.0.1", port: 1, plaintext: true };
const destination = new BigQueryDestination(
  {
    table: { project: "p", dataset: "d", table: "t" },
    mapping: tableMode,
    restEndpoint: endpoint,
    storageEndpoint: endpoint,
    credentials: undefined,
    batch: { maxBytes: 1 << 20, maxRows: 50_000, maxDelayMs: 20 },
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 4, maxRequestBytes: 9 << 20 },
    schemaRefreshIntervalMs: 60_000,
    maxRowBytes: 25 * 1024 * 1024,
    refusedHoldsKey: false,
    delivery,
    clock: systemClock,
    log: pino({ level: "silent" }),
    observer: {
      appended: ignore,
      committed: ignore,
      refused: ignore,
      retried: ignore,
      inFlight: ignore,
      connections: ignore,
      writeStream: ignore,
      alreadyStored: ignore,
      outcomeUnknown: ignore,
      schemaRefreshed: ignore,
    },
  },
  {
    fetchTable: () => Promise.resolve(table),
    compile: (schema) => createTranscoder(schema, tableMode),
    openCall,
    writeStreams: {
      create: () => Promise.resolve({ value: "projects/p/datasets/d/tables/t/streams/s" }),
      finalize: () => Promise.resolve({ value: rows }),
      close: ignore,
    },
    random: Math.random,
  },
);

const payloads = Array.from({ length: perBatch }, (_, id) =>
  Buffer.from(JSON.stringify({ id, note: "some 150 bytes, ".repeat(9) })),
);
const keyWidth = 12;
const keyNames = Buffer.from(Array.from({ length: keys }, (_, i) => String(i).padStart(keyWidth, "k")).join(""));

/** The same payloads again and again; only the keys differ from message to message, read as a pulled batch reads them. */
class NumberedBatch extends PayloadBatch {
  readonly #first: number;

  constructor(first: number) {
    super(payloads);
    this.#first = first;
  }

  override get hasOrderingKeys(): boolean {
    return keys > 0;
  }

  override orderingKey(i: number): string {
    const at = ((this.#first + i) % keys) * keyWidth;
    return keyNames.toString("utf8", at, at + keyWidth);
  }
}

const never = new AbortController().signal;

async function deliverSome(next: () => number): Promise<void> {
  for (let first = next(); first < rows; first = next()) {
    const outcomes = await destination.deliver(new NumberedBatch(first), never);
    if (outcomes.exceptions.size > 0) throw new Error("a message did not become a row");
  }
}

await destination.open(never);
let delivered = -perBatch;
const next = (): number => (delivered += perBatch);
const cpuBefore = process.cpuUsage();
const startMs = performance.now();
await Promise.all(Array.from({ length: batchesAtOnce }, () => deliverSome(next)));
const seconds = (performance.now() - startMs) / 1000;
const cpu = process.cpuUsage(cpuBefore);
const cpuSeconds = (cpu.user + cpu.system) / 1e6;
await destination.close();
const figures = {
  rows,
  keys,
  delivery,
  answerMs,
  requests,
  rowsPerSecond: Math.round(rows / seconds),
  rowsPerCpuSecond: Math.round(rows / cpuSeconds),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
