/** The life of a stream on a virtual clock, over real gRPC. */
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openClient } from "../../../src/lib/endpoint.ts";
import { routingHeader } from "../../../src/lib/raw-call.ts";
import { FlowControl } from "../../../src/source/flow-control.ts";
import { PullStream, type PullStreamOptions } from "../../../src/source/pull-stream.ts";
import { FakeSubscriber } from "../../support/fake-subscriber.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;
let clock = new VirtualClock();
let server = new FakeSubscriber();
let client = openClient({ host: "127.0.0.1", port: 1, plaintext: true }, undefined);
let stop: (() => Promise<void>)[] = [];

beforeEach(async () => {
  clock = new VirtualClock();
  server = new FakeSubscriber();
  await server.start();
  client = openClient({ host: "127.0.0.1", port: server.port, plaintext: true }, undefined);
});

afterEach(async () => {
  for (const each of stop.splice(0)) await each();
  client.close();
  await server.close();
});

function run(changes: Partial<PullStreamOptions> = {}): PullStream {
  const flow = new FlowControl({ maxOutstandingMessages: 1000, maxOutstandingBytes: 1e9 });
  flow.open();
  const subscription = "projects/acme/subscriptions/orders";
  const stream = new PullStream({
    client,
    metadata: routingHeader("subscription", subscription),
    terms: { subscription, clientId: "me", maxOutstandingMessages: 1000, maxOutstandingBytes: 1e9 },
    deadlineSeconds: () => 10,
    flow,
    clock,
    random: () => 0.5,
    windowBytes: 4_194_304,
    onAnswering: () => {},
    onResponse: () => {},
    onEnd: () => {},
    ...changes,
  });
  const running = stream.run();
  stop.push(() => {
    stream.stop();
    return running;
  });
  return stream;
}

const requestsOf = (index: number): number[] =>
  server.streams[index]!.requests.map(({ streamAckDeadlineSeconds }) => streamAckDeadlineSeconds);

async function streams(count: number): Promise<void> {
  await vi.waitFor(() => expect(server.streams).toHaveLength(count));
}

test("every 30 seconds a request says that somebody is there: empty, or with a new deadline", async () => {
  const seconds = { current: 10 };
  const granted: number[] = [];
  run({ deadlineSeconds: () => seconds.current, onResponse: (_, deadline) => granted.push(deadline) });
  await streams(1);
  await vi.waitFor(() => expect(requestsOf(0)).toEqual([10]));
  await clock.advance(29_999);
  seconds.current = 42;
  await clock.advance(30_002);
  await vi.waitFor(() => expect(requestsOf(0)).toEqual([10, 42, 0]));
  seconds.current = 20;
  await clock.advance(30_000);
  await vi.waitFor(() => expect(requestsOf(0)).toEqual([10, 42, 0, 20]));
  // The service may still have sent it under the deadline before.
  server.streams[0]!.send([{ ackId: "a" }]);
  await vi.waitFor(() => expect(granted).toEqual([20]));
  seconds.current = 60;
  await clock.advance(30_000);
  server.streams[0]!.send([{ ackId: "b" }]);
  await vi.waitFor(() => expect(granted).toEqual([20, 20]));
});

test("before the cut at 30 minutes the stream is half-closed, what is on its way arrives, and a new one is opened", async () => {
  const ends: string[] = [];
  const responses: number[] = [];
  run({
    onEnd: (code, _, failures) => ends.push(`${status[code]} ${failures}`),
    onResponse: (bytes) => responses.push(bytes.length),
  });
  await streams(1);
  // 29.5 minutes less half of two.
  await clock.advance(28.5 * minute - 1);
  expect(server.streams[0]!.halfClosed).toBe(false);
  server.streams[0]!.send([{ ackId: "a" }]);
  await clock.advance(1);
  await vi.waitFor(() => expect(server.streams[0]!.halfClosed).toBe(true));
  await vi.waitFor(() => expect(ends).toEqual(["OK 1"]));
  expect(responses).toHaveLength(1);
  await clock.advance(50);
  await streams(2);
  await vi.waitFor(() => expect(requestsOf(1)).toEqual([10]));
});

test("a stream that ends while much is held is opened again when half is settled, so that nothing waits unread", async () => {
  const flow = new FlowControl({ maxOutstandingMessages: 1000, maxOutstandingBytes: 1e9 });
  flow.open();
  flow.add(800, 800);
  const ends: string[] = [];
  run({ flow, onEnd: (code) => ends.push(status[code]) });
  await streams(1);
  server.streams[0]!.fail(status.UNAVAILABLE);
  await vi.waitFor(() => expect(ends).toEqual(["UNAVAILABLE"]));
  await clock.advance(10 * minute);
  flow.remove(299, 299);
  await clock.advance(10 * minute);
  expect(server.streams).toHaveLength(1);
  flow.remove(1, 1);
  await streams(2);
});

test("pauses grow from try to try, and begin anew after a stream that brought messages", async () => {
  const ends: string[] = [];
  for (let k = 0; k < 3; k++) server.streamFailures.push({ code: status.UNAVAILABLE, details: "" });
  run({ onEnd: (code, _, failures) => ends.push(`${status[code]} ${failures}`) });
  // Half of 100, 200 and 400 ms.
  for (const [count, pauseMs] of [
    [1, 50],
    [2, 100],
    [3, 200],
  ] as const) {
    await vi.waitFor(() => expect(ends).toHaveLength(count));
    await clock.advance(pauseMs - 1);
    expect(server.streams).toHaveLength(count);
    await clock.advance(1);
    await streams(count + 1);
  }
  server.streams[3]!.send([{ ackId: "a" }]);
  await vi.waitFor(() => expect(server.streams[3]!.unsent).toBe(0));
  server.streams[3]!.fail(status.INTERNAL);
  await vi.waitFor(() => expect(ends).toHaveLength(4));
  expect(ends).toEqual(["UNAVAILABLE 1", "UNAVAILABLE 2", "UNAVAILABLE 3", "INTERNAL 1"]);
});

test("no timer outlives a stream, however it ends", async () => {
  const ends: number[] = [];
  const stream = run({ random: () => 0.01, onEnd: (code) => ends.push(code) });
  for (let k = 0; k < 20; k++) {
    await streams(k + 1);
    await vi.waitFor(() => expect(requestsOf(k)).toHaveLength(1));
    server.streams[k]!.fail(status.ABORTED);
    await vi.waitFor(() => expect(ends).toHaveLength(k + 1));
    // Only the pause before the next try.
    expect(clock.pending).toBe(1);
    await clock.advance(600);
  }
  await streams(21);
  stream.stop();
  await vi.waitFor(() => expect(server.streams[20]!.halfClosed).toBe(true));
  await vi.waitFor(() => expect(clock.pending).toBe(0));
});

test("a service that does not end a half-closed stream is left after a second", async () => {
  const flow = new FlowControl({ maxOutstandingMessages: 0, maxOutstandingBytes: 0 });
  const answering = vi.fn<() => void>();
  const stream = run({ flow, onAnswering: answering });
  await streams(1);
  await vi.waitFor(() => expect(answering).toHaveBeenCalledTimes(1));
  // Nobody reads: the end, which comes behind this message, is not seen.
  server.streams[0]!.send([{ ackId: "a" }]);
  stream.stop();
  await vi.waitFor(() => expect(server.streams[0]!.halfClosed).toBe(true));
  await clock.advance(999);
  expect(clock.pending).toBeGreaterThan(0);
  await clock.advance(1);
  await vi.waitFor(() => expect(clock.pending).toBe(0));
});
