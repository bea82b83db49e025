import { status } from "@grpc/grpc-js";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BigQueryDestinationOptions, BigQueryDestination } from "../../../src/bigquery/bigquery-destination.ts";
import type { AppendObserver } from "../../../src/bigquery/append-observer.ts";
import { TableUnavailable } from "../../../src/bigquery/tables.ts";
import { SetupError } from "../../../src/errors.ts";
import type { Outcomes } from "../../../src/message.ts";
import type { TableSchema } from "../../../src/schema/table-schema.ts";
import { FakeAppendService, type SentRequest, stored } from "../../support/fake-append-service.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { tableMode } from "../../support/mapping-options.ts";

const startMs = 1_700_000_000_000;
const endpoint = { host: "127.0.0.1", port: 1, plaintext: true };

const tableOf = (...fields: string[]): TableSchema => ({
  columns: fields.map((name) => ({ name, type: "STRING", mode: "NULLABLE", fields: [], hasDefault: false })),
  primaryKey: [],
});

let clock: VirtualClock;
let service: FakeAppendService;
let table: TableSchema | Error;
let fetches: number;
let events: string[];
let rejections: unknown[];

const observer: AppendObserver = {
  appended: (rows) => events.push(`appended ${rows}`),
  committed: (messages, seconds) => events.push(`committed ${messages} after ${seconds.toFixed(3)}`),
  refused: (code, messages) => events.push(`refused ${code} ${messages}`),
  retried: (reason, requests) => events.push(`retried ${reason} ${requests}`),
  inFlight: () => undefined,
  connections: () => undefined,
  schemaRefreshed: () => undefined,
};

const noteRejection = (reason: unknown): void => void rejections.push(reason);

beforeEach(() => {
  clock = new VirtualClock(startMs);
  service = new FakeAppendService();
  table = tableOf("a");
  fetches = 0;
  events = [];
  rejections = [];
  process.on("unhandledRejection", noteRejection);
});

afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", noteRejection);
  if (rejections.length > 0) throw new Error("a promise was rejected and nobody looked", { cause: rejections[0] });
});

function destination(options: Partial<BigQueryDestinationOptions> = {}): BigQueryDestination {
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
      clock,
      log: pino({ level: "silent" }),
      observer,
      ...options,
    },
    {
      fetchTable: async () => {
        fetches++;
        await Promise.resolve();
        if (table instanceof Error) throw table;
        return table;
      },
      compile: (schema) => {
        const fields = schema.columns.map(({ name }) => name);
        if (fields.includes("unmappable")) throw new SetupError("column unmappable: no such type");
        return new FakeTranscoder(fields);
      },
      openCall: service.openCall,
      // Full jitter at its most: every pause is as long as it may be.
      random: () => 1,
    },
  );
}

async function opened(options: Partial<BigQueryDestinationOptions> = {}): Promise<BigQueryDestination> {
  const made = destination(options);
  void made.open(new AbortController().signal);
  await clock.advance(0);
  expect(made.state).toBe("ACTIVE");
  return made;
}

/** A batch of messages published `ageMs` ago. */
function batchOf(payloads: readonly string[], ageMs = 0): PayloadBatch {
  return new PayloadBatch(
    payloads.map((payload) => Buffer.from(payload)),
    {
      messageId: "m",
      publishTimeMicros: BigInt(Math.round((clock.now() - ageMs) * 1000)),
      attributes: new Map(),
      orderingKey: "",
    },
  );
}

interface Delivered {
  outcomes?: Outcomes;
}

/** Delivers payloads; the outcomes are there once they are known. */
function deliver(to: BigQueryDestination, payloads: readonly string[], ageMs = 0): Delivered {
  const delivered: Delivered = {};
  void to.deliver(batchOf(payloads, ageMs), new AbortController().signal).then((outcomes) => {
    delivered.outcomes = outcomes;
  });
  return delivered;
}

/** One word for each message. */
function fates({ outcomes }: Delivered): string[] | undefined {
  if (!outcomes) return undefined;
  return Array.from({ length: outcomes.length }, (_, i) => {
    const outcome = outcomes.at(i);
    return outcome.kind === "refused" ? outcome.refusal.code : outcome.kind;
  });
}

const names = (count: number, letter = "r"): string[] => Array.from({ length: count }, (_, i) => `${letter}${i}`);
const durable = (count: number): string[] => Array.from({ length: count }, () => "durable");
const last = (): SentRequest => service.requests.at(-1)!;

describe("the good path", () => {
  test("rows of several deliveries share a request, which goes when the delay is over", async () => {
    const to = await opened();
    const first = deliver(to, ["a", "b"], 500);
    await clock.advance(12);
    const second = deliver(to, ["c"]);
    await clock.advance(7);
    expect(service.requests).toHaveLength(0);
    await clock.advance(1);
    expect(service.requests).toHaveLength(1);
    expect(last()).toMatchObject({
      writeStream: "projects/p/datasets/d/tables/t/streams/_default",
      schema: "row_a",
      rows: ["a", "b", "c"],
    });
    expect(last().traceId).toMatch(/^millrace:\d/);
    expect(fates(first)).toBeUndefined();
    await clock.advance(30);
    last().answer();
    await clock.advance(0);
    expect(fates(first)).toEqual(["durable", "durable"]);
    expect(fates(second)).toEqual(["durable"]);
    expect(events).toEqual(["appended 3", "committed 2 after 0.550", "committed 1 after 0.038"]);
  });

  test("a full request goes at once; stream, trace and schema travel until an answer shows that they are known", async () => {
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 3, maxDelayMs: 20 } });
    const delivered = deliver(to, names(7));
    await clock.advance(0);
    expect(service.requests.map(({ rows }) => rows)).toEqual([names(3), ["r3", "r4", "r5"]]);
    expect(service.requests[1]).toMatchObject({ call: 0, schema: "row_a" });
    for (const request of service.requests) request.answer();
    await clock.advance(20);
    expect(last()).toMatchObject({ call: 0, writeStream: "", traceId: "", schema: "", rows: ["r6"] });
    last().answer();
    await clock.advance(0);
    expect(fates(delivered)).toEqual(durable(7));
  });

  test("with too much in flight later batches wait, and their rows are grouped meanwhile", async () => {
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 4, maxDelayMs: 20 } });
    const delivered = [deliver(to, names(8)), deliver(to, names(4, "s")), deliver(to, names(9, "t"))];
    await clock.advance(1000);
    // Two in flight, one that waits for room; the next one is full, and nothing more is transcoded.
    expect(service.requests).toHaveLength(2);
    service.react = () => stored;
    for (const request of service.requests) request.answer();
    await clock.advance(20);
    expect(delivered.map(fates)).toEqual([durable(8), durable(4), durable(9)]);
    expect(service.rows).toEqual([...names(8), ...names(4, "s"), ...names(9, "t")]);
  });

  test("a server that refuses the first request forgets what it said: it is said again", async () => {
    const to = await opened();
    const delivered = deliver(to, ["a", "b"]);
    await clock.advance(20);
    last().answer({ error: { code: status.INVALID_ARGUMENT, message: "AppendRows request too large" } });
    await clock.advance(0);
    expect(service.requests.slice(1).map(({ schema, traceId }) => [schema, traceId])).toEqual([
      ["row_a", service.requests[0]!.traceId],
      ["row_a", service.requests[0]!.traceId],
    ]);
    for (const request of service.requests.slice(1)) request.answer();
    await clock.advance(0);
    expect(fates(delivered)).toEqual(durable(2));
  });

  test("buffers are used again after the answer", async () => {
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
    service.react = () => stored;
    for (let round = 0; round < 50; round++) {
      const delivered = deliver(to, [`x${round}`, `y${round}`]);
      await clock.advance(0);
      expect(fates(delivered)).toEqual(durable(2));
      expect(last().rows).toEqual([`x${round}`, `y${round}`]);
    }
    expect(service.calls).toBe(1);
  });

  test("an empty batch is done at once", async () => {
    const to = await opened();
    const outcomes = await to.deliver(batchOf([]), new AbortController().signal);
    expect(outcomes.length).toBe(0);
  });
});

describe("bad rows", () => {
  test("what the transcoder refuses costs its neighbours nothing and waits for nothing", async () => {
    const to = await opened();
    const allBad = deliver(to, ["bad", "bad"]);
    const mixed = deliver(to, ["a", "bad", "b"]);
    await clock.advance(0);
    expect(fates(allBad)).toEqual(["TYPE_MISMATCH", "TYPE_MISMATCH"]);
    service.react = () => stored;
    await clock.advance(20);
    expect(fates(mixed)).toEqual(["durable", "TYPE_MISMATCH", "durable"]);
    expect(last().rows).toEqual(["a", "b"]);
    expect(events).toContain("refused TYPE_MISMATCH 2");
  });

  test("rows that BigQuery names are taken out, the others go again until all are in or refused", async () => {
    const to = await opened();
    const delivered = [deliver(to, names(3)), deliver(to, names(3, "s"))];
    await clock.advance(20);
    last().answer({
      error: { code: status.INVALID_ARGUMENT, message: "Errors found while processing rows" },
      rowErrors: [
        { index: 1, message: "Field a: STRING(2) has maximum length 2 but got a value with length 9 on field a." },
        { index: 4, message: "bad value secret" },
      ],
    });
    await clock.advance(0);
    expect(last().rows).toEqual(["r0", "r2", "s0", "s2"]);
    // The server's list need not have been complete.
    last().answer({
      error: { code: status.INVALID_ARGUMENT },
      rowErrors: [{ index: 3, message: "another" }],
    });
    await clock.advance(0);
    expect(last().rows).toEqual(["r0", "r2", "s0"]);
    last().answer();
    await clock.advance(0);
    expect(delivered.map(fates)).toEqual([
      ["durable", "ROW_REJECTED", "durable"],
      ["durable", "ROW_REJECTED", "ROW_REJECTED"],
    ]);
    const named = delivered[0]!.outcomes!.at(1);
    expect(named).toMatchObject({ refusal: { path: "a", stage: "append" } });
    const unnamed = delivered[1]!.outcomes!.at(1);
    const refusal = { path: "", message: "BigQuery refused the row", serverMessage: "bad value secret" };
    expect(unnamed).toMatchObject({ refusal });
  });

  test("a row that is refused without a name is found by halving", async () => {
    const to = await opened({ append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9e6 } });
    service.react = ({ rows }) =>
      rows.includes("r70") || rows.includes("r3")
        ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } }
        : stored;
    const delivered = deliver(to, names(100));
    await clock.advance(20_000);
    const expected = durable(100);
    expected[70] = expected[3] = "ROW_REJECTED";
    expect(fates(delivered)).toEqual(expected);
    // Two rows, each found in at most ⌈log2 100⌉ = 7 halvings of two requests.
    expect(service.requests.length).toBeLessThanOrEqual(1 + 2 * 7 * 2);
  });

  test("rows refused without a name wait until another row shows that it is they", async () => {
    const to = await opened();
    service.react = ({ rows }) =>
      rows.some((row) => row.startsWith("r"))
        ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } }
        : stored;
    const delivered = deliver(to, names(12));
    await clock.advance(60_000);
    expect(fates(delivered)).toBeUndefined();
    const other = deliver(to, ["good"]);
    await clock.advance(30_000);
    expect(fates(other)).toEqual(["durable"]);
    expect(fates(delivered)).toEqual(Array.from({ length: 12 }, () => "ROW_REJECTED"));
    expect(to.state).toBe("ACTIVE");
  });

  test("when everything is refused without a name, nothing is thrown away; it goes on by itself", async () => {
    const to = await opened();
    service.react = () => ({ error: { code: status.INVALID_ARGUMENT, message: "no idea" } });
    const delivered = deliver(to, names(16));
    await clock.advance(120_000);
    expect(fates(delivered)).toBeUndefined();
    expect(to.state).toBe("SCHEMA_MISMATCH");
    expect(to.stateReason).toMatch(/^p\.d\.t: .*without naming/);
    service.react = () => stored;
    await clock.advance(60_000);
    expect(fates(delivered)).toEqual(durable(16));
    expect(to.state).toBe("ACTIVE");
  });

  test("a request that is too large goes in halves; one row alone is refused", async () => {
    const to = await opened();
    service.react = ({ rows }) =>
      rows.length > 2 || rows.includes("huge")
        ? { error: { code: status.INVALID_ARGUMENT, message: "AppendRows request too large: 19923131 limit 10485760" } }
        : stored;
    const delivered = deliver(to, ["a", "b", "huge", "c", "d"]);
    await clock.advance(100);
    expect(fates(delivered)).toEqual(["durable", "durable", "ROW_TOO_LARGE", "durable", "durable"]);
  });
});

describe("failures that pass", () => {
  test("when the connection breaks, what has no answer goes again in order", async () => {
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
    const delivered = deliver(to, names(6));
    await clock.advance(0);
    service.requests[0]!.end({ code: status.UNAVAILABLE });
    await clock.advance(99);
    expect(service.requests).toHaveLength(2);
    await clock.advance(1);
    // One request goes as a probe; the rest follows when it is answered.
    expect(service.requests).toHaveLength(3);
    expect(last()).toMatchObject({ call: 1, schema: "row_a", rows: ["r0", "r1"] });
    service.react = () => stored;
    last().answer();
    await clock.advance(0);
    expect(service.rows.slice(4)).toEqual(names(6));
    expect(fates(delivered)).toEqual(durable(6));
  });

  test("transient failures are retried for ever, with pauses that grow up to 8 s; then a state is shown", async () => {
    const to = await opened();
    const times: number[] = [];
    service.react = (request) => {
      times.push(clock.monotonic());
      queueMicrotask(() => request.end({ code: status.UNAVAILABLE }));
      return undefined;
    };
    const delivered = deliver(to, ["a"]);
    await clock.advance(120_000);
    const pauses = times.slice(1).map((time, i) => time - times[i]!);
    expect(pauses.slice(0, 11)).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 8000, 8000, 8000, 8000]);
    expect(to.state).toBe("UNAVAILABLE");
    expect(to.stateReason).toBe("p.d.t: BigQuery does not answer appends (127.0.0.1:1); Millrace keeps trying");
    service.react = () => stored;
    await clock.advance(30_000);
    expect(fates(delivered)).toEqual(["durable"]);
    expect(to.state).toBe("ACTIVE");
  });

  test("an idle connection that the server closes costs nothing: the next request opens another at once", async () => {
    const to = await opened();
    service.react = () => stored;
    const first = deliver(to, ["a"]);
    await clock.advance(20);
    await clock.advance(600_000);
    service.requests[0]!.end({ code: status.ABORTED, message: "Stream closed: inactive for 600 seconds" });
    await clock.advance(1000);
    expect(to.state).toBe("ACTIVE");
    const second = deliver(to, ["b"]);
    await clock.advance(20);
    expect(service.calls).toBe(2);
    expect([fates(first), fates(second)]).toEqual([["durable"], ["durable"]]);
    expect(events.filter((event) => event.startsWith("retried"))).toEqual([]);
  });

  test("a request that an answer calls ABORTED goes again after a pause; others pass it", async () => {
    const to = await opened();
    const slow = deliver(to, ["slow"]);
    await clock.advance(20);
    last().answer({ error: { code: status.ABORTED, message: "try again" } });
    service.react = () => stored;
    const other = deliver(to, ["other"]);
    await clock.advance(20);
    expect(fates(other)).toEqual(["durable"]);
    expect(fates(slow)).toBeUndefined();
    await clock.advance(80);
    expect(fates(slow)).toEqual(["durable"]);
    expect(service.rows).toEqual(["slow", "other", "slow"]);
  });

  test("a connection without an answer for five minutes is given up", async () => {
    const to = await opened();
    const delivered = deliver(to, ["a"]);
    await clock.advance(20 + 299_999);
    expect(service.calls).toBe(1);
    service.react = () => stored;
    await clock.advance(1 + 100);
    expect(service.calls).toBe(2);
    expect(fates(delivered)).toEqual(["durable"]);
  });

  test("an answer that belongs to no request, or cannot be read, breaks the connection and loses nothing", async () => {
    const to = await opened();
    const delivered = deliver(to, ["a"]);
    await clock.advance(20);
    const [request] = service.requests;
    request!.answer();
    request!.answer();
    await clock.advance(0);
    expect(fates(delivered)).toEqual(["durable"]);
    service.react = () => stored;
    const next = deliver(to, ["b"]);
    await clock.advance(200);
    expect(service.calls).toBe(2);
    expect(fates(next)).toEqual(["durable"]);
  });
});

describe("failures that someone has to mend", () => {
  test.each([
    [status.PERMISSION_DENIED, "PERMISSION_DENIED", /bigquery\.tables\.updateData/],
    [status.NOT_FOUND, "NOT_FOUND", /does not exist/],
    [status.RESOURCE_EXHAUSTED, "THROTTLED", /quota/],
  ] as const)("status %i holds everything as %s, and ends by itself", async (code, state, reason) => {
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 20 } });
    service.react = () => ({ error: { code, message: "words of the server" } });
    const delivered = deliver(to, ["a", "b", "c"]);
    await clock.advance(5000);
    expect(to.state).toBe(state);
    expect(to.stateReason).toMatch(reason);
    expect(to.stateReason).toContain("p.d.t");
    expect(to.stateReason).not.toContain("words of the server");
    // Two at first, then a probe after 1 s and after 2 s more; the next one is due at 7 s.
    expect(service.requests.length).toBe(4);
    service.react = () => stored;
    await clock.advance(2000);
    expect(fates(delivered)).toEqual(durable(3));
    expect(to.state).toBe("ACTIVE");
  });

  test("quota: the pause between tries grows up to ten minutes", async () => {
    const to = await opened();
    const times: number[] = [];
    service.react = () => {
      times.push(clock.monotonic());
      return { error: { code: status.RESOURCE_EXHAUSTED, message: "AppendRows throughput" } };
    };
    deliver(to, ["a"]);
    await clock.advance(3_600_000);
    const pauses = times.slice(1).map((time, i) => (time - times[i]!) / 1000);
    expect(pauses.slice(0, 12)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
  });

  test("open waits for a table that is missing, and for one that cannot be mapped", async () => {
    table = new TableUnavailable({ state: "NOT_FOUND", reason: "no such table" });
    const to = destination();
    let open = false;
    void to.open(new AbortController().signal).then(() => {
      open = true;
    });
    expect(to.state).toBe("STARTING");
    await clock.advance(1);
    expect(to.state).toBe("NOT_FOUND");
    expect(to.stateReason).toBe("p.d.t: no such table");
    table = tableOf("unmappable");
    await clock.advance(1000);
    expect(to.state).toBe("SCHEMA_MISMATCH");
    expect(to.stateReason).toContain("no such type");
    expect(open).toBe(false);
    table = tableOf("a");
    await clock.advance(60_000);
    expect(open).toBe(true);
    expect(to.state).toBe("ACTIVE");
  });

  test("an aborted open resolves", async () => {
    table = new TableUnavailable({ state: "NOT_FOUND", reason: "no such table" });
    const to = destination();
    const stop = new AbortController();
    const open = to.open(stop.signal);
    await clock.advance(10);
    stop.abort();
    await open;
    await to.close();
    expect(to.state).toBe("STOPPED");
    expect(clock.pending).toBe(0);
  });
});

describe("the table changes", () => {
  test("a message with an unknown field is held, the table looked at, and the message written", async () => {
    const to = await opened();
    service.react = () => stored;
    await clock.advance(10_000);
    table = tableOf("a", "note");
    const delivered = deliver(to, ["x", "field note", "field nonsense"]);
    await clock.advance(100);
    expect(fates(delivered)).toEqual(["durable", "durable", "UNKNOWN_FIELD"]);
    expect(service.requests.map(({ schema, rows }) => [schema, rows])).toEqual([
      ["row_a", ["x"]],
      ["row_a_note", ["field note"]],
    ]);
    // The descriptor changed on the same connection, and from then on requests name their stream.
    expect(last()).toMatchObject({ call: 0, writeStream: "projects/p/datasets/d/tables/t/streams/_default" });
    deliver(to, ["later"]);
    await clock.advance(20);
    expect(last()).toMatchObject({ schema: "", writeStream: "projects/p/datasets/d/tables/t/streams/_default" });
    expect(fetches).toBe(2);
  });

  test("a stream of unknown fields does not hammer tables.get", async () => {
    const to = await opened();
    service.react = () => stored;
    for (let i = 0; i < 1000; i++) {
      deliver(to, ["field nonsense", "x"]);
      await clock.advance(10);
    }
    // Ten seconds, one look every two seconds at most.
    expect(fetches).toBeGreaterThanOrEqual(4);
    expect(fetches).toBeLessThanOrEqual(6);
  });

  test("of a backlog, unknown fields are refused at once when the table was seen a moment ago", async () => {
    const to = await opened();
    await clock.advance(1000);
    const delivered = deliver(to, ["field nonsense"], 60_000);
    await clock.advance(0);
    expect(fates(delivered)).toEqual(["UNKNOWN_FIELD"]);
    expect(fetches).toBe(1);
  });

  test("as long as the table cannot be looked at, unknown fields are held, not refused", async () => {
    const to = await opened();
    await clock.advance(10_000);
    table = new TableUnavailable({ state: "UNAVAILABLE", reason: "HTTP status 503" });
    const delivered = deliver(to, ["field note"]);
    await clock.advance(300_000);
    expect(fates(delivered)).toBeUndefined();
    expect(to.state).toBe("UNAVAILABLE");
    expect(to.stateReason).toBe("p.d.t: HTTP status 503; Millrace keeps trying");
    table = tableOf("a", "note");
    service.react = () => stored;
    await clock.advance(60_000);
    expect(fates(delivered)).toEqual(["durable"]);
    expect(to.state).toBe("ACTIVE");
  });

  test("updated_schema in an answer has the table looked at; so does the schedule", async () => {
    const to = await opened();
    await clock.advance(10_000);
    service.react = () => ({ updatedSchema: {} });
    deliver(to, ["x"]);
    await clock.advance(20);
    expect(fetches).toBe(2);
    await clock.advance(59_000);
    expect(fetches).toBe(2);
    await clock.advance(1000);
    expect(fetches).toBe(3);
  });

  test("rows in flight and rows already written finish under the old descriptor", async () => {
    const to = await opened();
    const before = deliver(to, ["x"]);
    await clock.advance(20);
    table = tableOf("a", "note");
    const filling = deliver(to, ["y"]);
    await clock.advance(59_975);
    const later = deliver(to, ["z"]);
    await clock.advance(25);
    service.react = () => stored;
    last().answer();
    service.requests[0]!.answer();
    await clock.advance(100);
    expect([before, filling, later].map(fates)).toEqual([["durable"], ["durable"], ["durable"]]);
    expect(service.rows).toEqual(["x", "y", "z"]);
  });

  test("BigQuery lags behind the table: rows with the new column wait and are written, with a state meanwhile", async () => {
    const to = await opened();
    let knowsColumn = false;
    service.react = ({ rows }) =>
      rows.some((row) => row.startsWith("field")) && !knowsColumn
        ? { error: { code: status.INVALID_ARGUMENT, message: "extra fields", storageError: 7 } }
        : stored;
    await clock.advance(10_000);
    table = tableOf("a", "note");
    const delivered = deliver(to, ["field note"]);
    await clock.advance(60_000);
    expect(fates(delivered)).toBeUndefined();
    expect(to.state).toBe("SCHEMA_MISMATCH");
    knowsColumn = true;
    await clock.advance(60_000);
    expect(fates(delivered)).toEqual(["durable"]);
    expect(to.state).toBe("ACTIVE");
  });

  test("a column is dropped: the rows are transcoded again, and what no longer fits is refused", async () => {
    table = tableOf("a", "note");
    const to = await opened();
    await clock.advance(10_000);
    service.react = ({ schema }) =>
      schema === "row_a_note"
        ? { error: { code: status.INVALID_ARGUMENT, message: "Input schema has more fields than BigQuery schema" } }
        : stored;
    table = tableOf("a");
    const delivered = deliver(to, ["x", "field note", "bad", "y"]);
    await clock.advance(10_000);
    expect(fates(delivered)).toEqual(["durable", "UNKNOWN_FIELD", "TYPE_MISMATCH", "durable"]);
    expect(last()).toMatchObject({ schema: "row_a", rows: ["x", "y"] });
  });

  test("a connection that ends over its descriptor: the table is looked at and the rows are transcoded again", async () => {
    table = tableOf("a", "note");
    const to = await opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
    await clock.advance(10_000);
    table = tableOf("b");
    const delivered = deliver(to, names(4));
    await clock.advance(0);
    expect(service.requests).toHaveLength(2);
    last().end({
      code: status.INVALID_ARGUMENT,
      message: "The proto field mismatched with BigQuery field at row.a, the proto field type string",
    });
    service.react = () => stored;
    await clock.advance(5000);
    expect(fates(delivered)).toEqual(durable(4));
    expect(service.requests.slice(2).map(({ schema }) => schema)).toEqual(["row_b", ""]);
  });
});

describe("coming to rest", () => {
  test("drain sends what is waiting without delay and resolves when everything is in", async () => {
    const to = await opened();
    const delivered = deliver(to, ["a"]);
    const drained = to.drain(clock.monotonic() + 30_000);
    await clock.advance(0);
    expect(to.state).toBe("DRAINING");
    expect(last().rows).toEqual(["a"]);
    last().answer();
    await drained;
    expect(fates(delivered)).toEqual(["durable"]);
    await to.close();
    expect(clock.pending).toBe(0);
  });

  test("at the deadline what has no fate is abandoned, wherever it is", async () => {
    const to = await opened({
      batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 },
      append: { maxInFlight: 1, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 },
    });
    await clock.advance(10_000);
    table = new TableUnavailable({ state: "UNAVAILABLE", reason: "down" });
    const delivered = [
      deliver(to, ["a0", "a1"]), // answered
      deliver(to, ["b0", "field note", "b2", "bad"]), // in flight, held for the table, waiting
      deliver(to, names(9)), // filling and not looked at
    ];
    await clock.advance(0);
    service.requests[0]!.answer();
    const drained = to.drain(clock.monotonic() + 5000);
    await clock.advance(4999);
    expect(fates(delivered[0]!)).toEqual(["durable", "durable"]);
    expect(fates(delivered[1]!)).toBeUndefined();
    await clock.advance(1);
    await drained;
    expect(fates(delivered[1]!)).toEqual(["abandoned", "abandoned", "abandoned", "TYPE_MISMATCH"]);
    expect(fates(delivered[2]!)).toEqual(Array.from({ length: 9 }, () => "abandoned"));
    await to.close();
    expect(clock.pending).toBe(0);
  });

  test("closed while a request waits for a look at the table, it sends nothing more and keeps no timer", async () => {
    const to = await opened();
    await clock.advance(10_000);
    table = new TableUnavailable({ state: "UNAVAILABLE", reason: "down" });
    const delivered = deliver(to, ["a", "field note"]);
    await clock.advance(20);
    last().answer({ error: { code: status.INVALID_ARGUMENT, message: "extra", storageError: 7 } });
    await clock.advance(5000);
    await to.close();
    await clock.advance(600_000);
    expect(fates(delivered)).toEqual(["abandoned", "abandoned"]);
    expect(service.requests).toHaveLength(1);
    expect([to.state, to.stateReason, clock.pending]).toEqual(["STOPPED", "", 0]);
  });

  test("aborting a delivery abandons its messages, and rows of it that were not sent never are", async () => {
    const to = await opened();
    const stop = new AbortController();
    const kept = deliver(to, ["k0"]);
    const given = to.deliver(batchOf(["g0", "g1"]), stop.signal);
    const alsoKept = deliver(to, ["k1"]);
    stop.abort();
    expect(fates({ outcomes: await given })).toEqual(["abandoned", "abandoned"]);
    service.react = () => stored;
    await clock.advance(20);
    expect(service.rows).toEqual(["k0", "k1"]);
    expect([fates(kept), fates(alsoKept)]).toEqual([["durable"], ["durable"]]);
    const late = await to.deliver(batchOf(["l"]), stop.signal);
    expect(late.at(0).kind).toBe("abandoned");
  });
});
