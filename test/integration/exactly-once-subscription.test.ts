/** The source with a subscription that has exactly-once delivery (PULL-01): receipts, confirmed acks, ids that fail alone. */
import pino from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/faults.ts";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Fates, type MessageBatch } from "../../src/message.ts";
import type { PullObserver } from "../../src/source/pull-observer.ts";
import { StreamingPull } from "../../src/source/streaming-pull.ts";
import { eventually } from "../support/eventually.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const topic = "projects/test/topics/orders";
const subscription = "projects/test/subscriptions/orders";
const lastsLongerThanAnyLease = 601_000;

let emulator: PubSubEmulator;
/** The server's: leases end when a test says so. */
let clock: VirtualClock;
let source: StreamingPull;
let pulling: AbortController;
let held: { messages: number; bytes: number };
const counts = { acked: 0, extended: 0, failed: { ack: 0, nack: 0, extend: 0 } };

beforeEach(async () => {
  clock = new VirtualClock();
  emulator = await startPubSubEmulator({ clock });
  emulator.createTopic(topic);
  Object.assign(counts, { acked: 0, extended: 0, failed: { ack: 0, nack: 0, extend: 0 } });
  held = { messages: 0, bytes: 0 };
  pulling = new AbortController();
});
afterEach(async () => {
  pulling.abort();
  await source.close();
  await emulator.close();
});

function observer(): PullObserver {
  const ignore = (): void => {};
  return {
    received: ignore,
    responseDropped: ignore,
    acked: (messages) => (counts.acked += messages),
    nacked: ignore,
    extended: (messages) => (counts.extended += messages),
    requestFailed: (kind, messages) => (counts.failed[kind] += messages),
    leaseEnded: ignore,
    streamOpened: ignore,
    streamClosed: ignore,
    outstanding: (messages, bytes) => (held = { messages, bytes }),
    timeToAck: ignore,
  };
}

/** Publishes, and pulls with these faults. */
async function pull(texts: readonly string[], faults: readonly Fault[]): Promise<AsyncIterator<MessageBatch>> {
  emulator.createSubscription({ name: subscription, topic, enableExactlyOnceDelivery: true, ackDeadlineSeconds: 10 });
  emulator.faults.replace(faults);
  emulator.publish(
    topic,
    texts.map((data) => ({ data })),
  );
  source = new StreamingPull({
    subscription,
    pull: { streams: 1, maxOutstandingMessages: 5000, maxOutstandingBytes: 100_000_000 },
    leases: {
      minDurationPerAckExtensionMs: 10_000,
      maxDurationPerAckExtensionMs: 600_000,
      maxAckExtensionPeriodMs: Infinity,
      releaseAfterMs: Infinity,
    },
    endpoint: { host: emulator.host, port: emulator.port, plaintext: true },
    credentials: undefined,
    clock: systemClock,
    log: pino({ level: "silent" }),
    observer: observer(),
  });
  await source.open(pulling.signal);
  return source.batches(pulling.signal)[Symbol.asyncIterator]();
}

async function next(batches: AsyncIterator<MessageBatch>): Promise<MessageBatch> {
  const { value, done } = await batches.next();
  if (done) throw new Error("The source has ended");
  return value;
}

const settle = (batch: MessageBatch): Promise<void> => source.settle(batch, new Fates(batch.length));

const textsOf = (batch: MessageBatch): string[] =>
  Array.from({ length: batch.length }, (_, i) => batch.bytes.toString("utf8", batch.dataStart(i), batch.dataEnd(i)));

const left = (): string[] =>
  emulator
    .subscription(subscription)
    .messages()
    .map(({ data }) => data.toString());

test("an ack that is refused for good is counted, its message comes again, and that ack counts (de-04)", async () => {
  const code = "PERMANENT_FAILURE_INVALID_ACK_ID";
  const batches = await pull(["a", "b", "c", "d"], [{ method: "Acknowledge", call: 1, ackErrors: { code, every: 2 } }]);
  await settle(await next(batches));
  expect(counts).toMatchObject({ acked: 2, failed: { ack: 2 } });
  expect(left()).toEqual(["b", "d"]);
  expect(emulator.faults.calls("Acknowledge")).toBe(1);

  const second = await next(batches);
  expect(textsOf(second).toSorted()).toEqual(["b", "d"]);
  await settle(second);
  expect(left()).toEqual([]);
  expect(counts).toMatchObject({ acked: 4, failed: { ack: 2 } });
});

test("an ack that fails for a passing reason is sent again, alone, until it is taken", async () => {
  const code = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
  const batches = await pull(["a", "b", "c", "d"], [{ method: "Acknowledge", call: 1, ackErrors: { code, every: 4 } }]);
  await settle(await next(batches));
  expect(left()).toEqual([]);
  expect(counts).toMatchObject({ acked: 4, failed: { ack: 0 } });
  expect(emulator.faults.calls("Acknowledge")).toBe(2);
});

test("no message is handed on before its lease is confirmed, for a minute at least", async () => {
  const answerAfterMs = 700;
  const batches = await pull(["a"], [{ method: "ModifyAckDeadline", call: 1, delayMs: answerAfterMs, done: true }]);
  let handedOn = false;
  const coming = next(batches).finally(() => (handedOn = true));
  await eventually("the receipt is sent", () => emulator.faults.calls("ModifyAckDeadline") === 1 || undefined);
  // Time for a message that does not wait for the answer, which the server's clock holds back.
  await new Promise((resolve) => {
    setTimeout(resolve, 300);
  });
  expect(handedOn).toBe(false);
  await clock.advance(answerAfterMs);
  const batch = await coming;
  expect(textsOf(batch)).toEqual(["a"]);
  expect(counts.extended).toBe(1);
  expect(emulator.faults.calls("ModifyAckDeadline")).toBe(1);
  // Both the subscription's deadline and the shortest extension are 10 s.
  await clock.advance(58_000);
  expect(emulator.subscription(subscription).outstanding).toBe(1);
  await settle(batch);
  expect(left()).toEqual([]);
});

test("a message whose receipt is refused is left out, comes again, and takes up no room meanwhile", async () => {
  const code = "PERMANENT_FAILURE_INVALID_ACK_ID";
  const receipts: Fault[] = [{ method: "ModifyAckDeadline", call: 1, ackErrors: { code, every: 2 } }];
  const batches = await pull(["a", "b", "c", "d"], receipts);
  const first = await next(batches);
  expect(textsOf(first)).toEqual(["a", "c"]);
  await settle(first);
  expect(counts.failed.extend).toBe(2);
  expect(left()).toEqual(["b", "d"]);

  const second = await next(batches);
  expect(textsOf(second).toSorted()).toEqual(["b", "d"]);
  expect(held.messages).toBe(2);
  await settle(second);
  expect(left()).toEqual([]);
  expect(held).toEqual({ messages: 0, bytes: 0 });
});

test("a receipt that fails for a passing reason is tried three times, and then its message is left out", async () => {
  const code = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
  const batches = await pull(["a"], [{ method: "ModifyAckDeadline", call: "1-3", ackErrors: { code } }]);
  const again = next(batches);
  await eventually("it is given up", () => counts.failed.extend === 1 || undefined);
  expect(emulator.faults.calls("ModifyAckDeadline")).toBe(3);
  expect(left()).toEqual(["a"]);
  await clock.advance(lastsLongerThanAnyLease);
  expect(textsOf(await again)).toEqual(["a"]);
});

test("the answer for 2,400 ids that all fail can be read: no request has more than its trailers can name", async () => {
  const code = "PERMANENT_FAILURE_INVALID_ACK_ID";
  const count = 2400;
  const texts = Array.from({ length: count }, (_, i) => `message ${i}`);
  const batches = await pull(texts, [{ method: "Acknowledge", ackErrors: { code } }]);
  const received: MessageBatch[] = [];
  while (received.reduce((sum, { length }) => sum + length, 0) < count) received.push(await next(batches));
  await Promise.all(received.map(settle));
  expect(counts).toMatchObject({ acked: 0, failed: { ack: count } });
  // An answer that cannot be read ends the connection, and the request is sent again.
  expect(emulator.faults.calls("Acknowledge")).toBeLessThanOrEqual(10);
});
