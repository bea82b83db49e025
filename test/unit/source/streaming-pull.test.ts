import { status } from "@grpc/grpc-js";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { Fates, type MessageBatch } from "../../../src/message.ts";
import type { PullObserver } from "../../../src/source/pull-observer.ts";
import { StreamingPull, type StreamingPullOptions } from "../../../src/source/streaming-pull.ts";
import { FakeSubscriber } from "../../support/fake-subscriber.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const subscription = "projects/acme/subscriptions/orders";

class Counts implements PullObserver {
  messages = 0;
  ackedMessages = 0;
  nackedMessages = 0;
  extendedMessages = 0;
  failures: string[] = [];
  dropped = 0;
  opened = 0;
  closed: string[] = [];
  held = { messages: 0, bytes: 0, leases: 0 };
  times: number[] = [];
  ended: string[] = [];

  received(messages: number): void {
    this.messages += messages;
  }
  responseDropped(): void {
    this.dropped++;
  }
  acked(messages: number): void {
    this.ackedMessages += messages;
  }
  nacked(messages: number): void {
    this.nackedMessages += messages;
  }
  extended(messages: number): void {
    this.extendedMessages += messages;
  }
  requestFailed(kind: string, messages: number, code: string): void {
    this.failures.push(`${kind} ${messages} ${code}`);
  }
  leaseEnded(messages: number, reason: string): void {
    this.ended.push(`${reason} ${messages}`);
  }
  streamOpened(): void {
    this.opened++;
  }
  streamClosed(code: string): void {
    this.closed.push(code);
  }
  outstanding(messages: number, bytes: number, leases: number): void {
    this.held = { messages, bytes, leases };
  }
  timeToAck(seconds: number): void {
    this.times.push(seconds);
  }
}

const server = { current: new FakeSubscriber() };
const sources: StreamingPull[] = [];
let counts = new Counts();

beforeEach(async () => {
  counts = new Counts();
  server.current = new FakeSubscriber();
  await server.current.start();
});

afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.close()));
  await server.current.close();
});

function pull(changes: Partial<StreamingPullOptions> = {}): StreamingPull {
  const source = new StreamingPull({
    subscription,
    pull: { streams: 1, maxOutstandingMessages: 1000, maxOutstandingBytes: 10_000_000 },
    leases: {
      minDurationPerAckExtensionMs: 10_000,
      maxDurationPerAckExtensionMs: 600_000,
      maxAckExtensionPeriodMs: Infinity,
      releaseAfterMs: Infinity,
    },
    endpoint: { host: "127.0.0.1", port: server.current.port, plaintext: true },
    credentials: undefined,
    clock: systemClock,
    log: pino({ level: "silent" }),
    observer: counts,
    ...changes,
  });
  sources.push(source);
  return source;
}

const messages = (...ackIds: string[]): { ackId: string; data: string }[] =>
  ackIds.map((ackId) => ({ ackId, data: `data of ${ackId}` }));

async function opened(source: StreamingPull): Promise<AsyncIterator<MessageBatch> & { stop(): void }> {
  const abort = new AbortController();
  await source.open(abort.signal);
  const iterator = source.batches(abort.signal)[Symbol.asyncIterator]();
  return Object.assign(iterator, { stop: () => abort.abort() });
}

async function next(iterator: AsyncIterator<MessageBatch>): Promise<MessageBatch> {
  const result = await iterator.next();
  if (result.done) throw new Error("The source ended");
  return result.value;
}

const texts = (batch: MessageBatch): string[] =>
  Array.from({ length: batch.length }, (_, i) => batch.bytes.toString("utf8", batch.dataStart(i), batch.dataEnd(i)));

describe("pulling", () => {
  test("hands on a response as one batch and acks what is settled", async () => {
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a", "b", "c"));
    const batch = await next(batches);
    expect(texts(batch)).toEqual(["data of a", "data of b", "data of c"]);
    await source.settle(batch, new Fates(3));
    expect(server.current.acks).toEqual(["a", "b", "c"]);
    expect(server.current.deadlines).toEqual([]);
    expect(counts).toMatchObject({ messages: 3, ackedMessages: 3, held: { messages: 0, bytes: 0, leases: 0 } });
  });

  test("states its terms once per stream, and shares the limits out over the streams", async () => {
    const source = pull({ pull: { streams: 3, maxOutstandingMessages: 100, maxOutstandingBytes: 9_000_000_000 } });
    await opened(source);
    await vi.waitFor(() => expect(server.current.streams.flatMap(({ requests }) => requests)).toHaveLength(3));
    for (const { requests } of server.current.streams) {
      expect(requests[0]).toMatchObject({
        subscription,
        streamAckDeadlineSeconds: 10,
        maxOutstandingMessages: "34",
        maxOutstandingBytes: "3000000000",
      });
    }
    const clientIds = new Set(server.current.streams.map(({ requests }) => requests[0]!.clientId));
    expect(clientIds.size).toBe(1);
  });

  test("gives messages back at once and after a pause", async () => {
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a", "b", "c", "d", "e"));
    const batch = await next(batches);
    const fates = new Fates(5);
    fates.nack(1);
    fates.nack(3, 10_001);
    fates.nack(4, 3_600_000);
    await source.settle(batch, fates);
    expect(server.current.acks).toEqual(["a", "c"]);
    expect(server.current.deadlines.toSorted((a, b) => a.seconds - b.seconds)).toEqual([
      { ackIds: ["b"], seconds: 0 },
      { ackIds: ["d"], seconds: 11 },
      { ackIds: ["e"], seconds: 600 },
    ]);
  });

  test("stops reading at the limit and goes on below it", async () => {
    const source = pull({ pull: { streams: 1, maxOutstandingMessages: 4, maxOutstandingBytes: 1e9 } });
    const batches = await opened(source);
    const stream = server.current.streams[0]!;
    for (let k = 0; k < 10; k++) stream.send(messages(`${k}a`, `${k}b`, `${k}c`));
    const first = await next(batches);
    const second = await next(batches);
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    expect(counts.messages).toBe(6);
    await source.settle(first, new Fates(3));
    await next(batches);
    expect(counts.messages).toBe(9);
    await source.settle(second, new Fates(3));
    await next(batches);
    expect(counts.messages).toBe(12);
  });

  test("pushes back as far as the service: what is not read is not sent", async () => {
    const source = pull({ pull: { streams: 1, maxOutstandingMessages: 1e6, maxOutstandingBytes: 1_000_000 } });
    const batches = await opened(source);
    const stream = server.current.streams[0]!;
    const large = "x".repeat(1_000_000);
    for (let k = 0; k < 30; k++) stream.send([{ ackId: `${k}`, data: large }]);
    await next(batches);
    await new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
    expect(counts.messages).toBe(1);
    expect(stream.unsent).toBeGreaterThan(15);
  });

  test("drops a response that cannot be read, and goes on", async () => {
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.sendBytes(Buffer.from([0x0a, 0x7f, 0x01]));
    server.current.streams[0]!.send(messages("a"));
    expect(texts(await next(batches))).toEqual(["data of a"]);
    expect(counts.dropped).toBe(1);
  });
});

describe("streams that end", () => {
  test("are opened again, and what was held is still acked", async () => {
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a"));
    const batch = await next(batches);
    server.current.streams[0]!.fail(status.UNAVAILABLE);
    await vi.waitFor(() => expect(server.current.streams).toHaveLength(2));
    server.current.streams[1]!.send(messages("b"));
    expect(texts(await next(batches))).toEqual(["data of b"]);
    await source.settle(batch, new Fates(1));
    expect(server.current.acks).toEqual(["a"]);
    expect(counts.closed).toEqual(["UNAVAILABLE"]);
    expect(source.state).toBe("ACTIVE");
  });

  test.each([
    ["NOT_FOUND", "NOT_FOUND", /does not exist.*Create it/],
    ["PERMISSION_DENIED", "PERMISSION_DENIED", /roles\/pubsub\.subscriber/],
    ["UNAUTHENTICATED", "PERMISSION_DENIED", /Application Default Credentials/],
    ["FAILED_PRECONDITION", "NOT_FOUND", /cannot be pulled from/],
    ["INVALID_ARGUMENT", "UNAVAILABLE", /invalid/],
  ] as const)("for %s show why, and are tried again until it is mended", async (code, state, reason) => {
    server.current.streamFailures.push({ code: status[code], details: "no" }, { code: status[code], details: "no" });
    const source = pull({ random: () => 0.01 });
    const open = source.open(new AbortController().signal);
    await vi.waitFor(() => expect(source.state).toBe(state));
    expect(source.stateReason).toMatch(reason);
    expect(source.stateReason).toContain(subscription);
    await open;
    expect(source.state).toBe("ACTIVE");
    expect(source.stateReason).toBe("");
    expect(server.current.streams).toHaveLength(3);
  });

  test("for want of a server are told after three tries", async () => {
    const source = pull({ endpoint: { host: "127.0.0.1", port: 1, plaintext: true }, random: () => 0.1 });
    const abort = new AbortController();
    const open = source.open(abort.signal);
    await vi.waitFor(() => expect(source.state).toBe("UNAVAILABLE"));
    expect(source.stateReason).toContain("Millrace keeps trying");
    abort.abort();
    await open;
  });
});

test("a service that sends no headers is taken as accepting after a second of silence", async () => {
  server.current.greeting = undefined;
  const source = pull();
  const before = performance.now();
  await source.open(new AbortController().signal);
  expect(performance.now() - before).toBeGreaterThan(900);
  expect(source.state).toBe("ACTIVE");
});

describe("acks that fail", () => {
  test("are sent again when the service could not take them", async () => {
    server.current.ackFailures.push({ code: status.UNAVAILABLE, details: "" }, { code: status.INTERNAL, details: "" });
    const source = pull({ random: () => 0.1 });
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a", "b"));
    await source.settle(await next(batches), new Fates(2));
    expect(server.current.acks).toEqual(["a", "b"]);
    expect(server.current.ackRequests).toBe(3);
    expect(counts.failures).toEqual([]);
  });

  test("are given up, without an exception, when the service refuses them", async () => {
    server.current.ackFailures.push({ code: status.INVALID_ARGUMENT, details: "" });
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a"));
    await source.settle(await next(batches), new Fates(1));
    expect(server.current).toMatchObject({ acks: [], ackRequests: 1 });
    expect(counts.failures).toEqual(["ack 1 INVALID_ARGUMENT"]);
    expect(counts.held).toEqual({ messages: 0, bytes: 0, leases: 0 });
  });
});

describe("leases", () => {
  const leases = {
    minDurationPerAckExtensionMs: 10_000,
    maxDurationPerAckExtensionMs: 600_000,
    maxAckExtensionPeriodMs: Infinity,
    releaseAfterMs: Infinity,
  };

  test("a batch that is held longer than releaseAfter is given back once; its ack is sent all the same", async () => {
    const source = pull({ leases: { ...leases, releaseAfterMs: 50 } });
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a", "b"));
    const batch = await next(batches);
    await vi.waitFor(() => expect(server.current.deadlines).toEqual([{ ackIds: ["a", "b"], seconds: 0 }]));
    expect(counts.ended).toEqual(["released 2"]);
    expect(counts.held.messages).toBe(2);
    await source.settle(batch, new Fates(2));
    expect(server.current.acks).toEqual(["a", "b"]);
    expect(server.current.deadlines).toHaveLength(1);
  });

  test("a batch that is held is extended, again after a failure; after closing no timer is left", async () => {
    const clock = new VirtualClock();
    const source = pull({ clock, random: () => 0.5 });
    const abort = new AbortController();
    const open = source.open(abort.signal);
    await open;
    const batches = source.batches(abort.signal)[Symbol.asyncIterator]();
    server.current.streams[0]!.send(messages("a", "b"));
    await next(batches);
    server.current.deadlineFailures.push({ code: status.UNAVAILABLE, details: "" });
    await clock.advance(5005);
    await vi.waitFor(() => expect(counts.failures).toEqual(["extend 2 UNAVAILABLE"]));
    expect(server.current.deadlines).toEqual([]);
    // The next try comes a second and a half later.
    await clock.advance(1505);
    await vi.waitFor(() => expect(server.current.deadlines).toEqual([{ ackIds: ["a", "b"], seconds: 10 }]));
    const closed = source.close();
    await vi.waitFor(() => expect(server.current.deadlines.at(-1)).toEqual({ ackIds: ["a", "b"], seconds: 0 }));
    await closed;
    expect(clock.pending).toBe(0);
  });
});

describe("the end", () => {
  test("an abort ends the batches, half-closes the streams and gives back what was not handed on", async () => {
    const source = pull();
    const batches = await opened(source);
    const stream = server.current.streams[0]!;
    stream.send(messages("a"));
    const first = await next(batches);
    stream.send(messages("b"));
    await vi.waitFor(() => expect(counts.messages).toBe(2));
    batches.stop();
    expect((await batches.next()).done).toBe(true);
    await vi.waitFor(() => expect(stream.halfClosed).toBe(true));
    await vi.waitFor(() => expect(server.current.deadlines).toEqual([{ ackIds: ["b"], seconds: 0 }]));
    expect(source.state).toBe("DRAINING");
    await source.settle(first, new Fates(1));
    expect(server.current.acks).toEqual(["a"]);
  });

  test("closing gives back what is still held", async () => {
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a", "b"));
    const batch = await next(batches);
    await source.close();
    expect(server.current.deadlines).toEqual([{ ackIds: ["a", "b"], seconds: 0 }]);
    expect(source.state).toBe("STOPPED");
    await source.settle(batch, new Fates(2));
    expect(server.current.acks).toEqual([]);
  });

  test("closing waits for acks under way, but not for ever", async () => {
    for (let k = 0; k < 200; k++) server.current.ackFailures.push({ code: status.UNAVAILABLE, details: "" });
    const source = pull();
    const batches = await opened(source);
    server.current.streams[0]!.send(messages("a"));
    const settled = source.settle(await next(batches), new Fates(1));
    const before = performance.now();
    await source.close();
    expect(performance.now() - before).toBeLessThan(8000);
    await settled;
    expect(server.current.acks).toEqual([]);
  });

  test("closing a source that was never opened does nothing", async () => {
    await pull().close();
    expect(server.current.streams).toEqual([]);
  });
});
