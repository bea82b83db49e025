/** The embedded Pub/Sub over real gRPC: what goes wrong on demand, and what only a stream shows. */
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Fault } from "../../src/emulator/faults.ts";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { eventually } from "../support/eventually.ts";
import { type Delivery, PubSubClient, type PullStream } from "../support/pubsub-client.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const topic = "projects/test/topics/orders";
const subscription = "projects/test/subscriptions/orders";

let clock: VirtualClock;
let emulator: PubSubEmulator;
let client: PubSubClient;

beforeEach(async () => {
  clock = new VirtualClock();
  emulator = await startPubSubEmulator({ clock });
  client = new PubSubClient(`${emulator.host}:${emulator.port}`);
  emulator.createTopic(topic);
  emulator.createSubscription({ name: subscription, topic });
});
afterEach(async () => {
  client.close();
  await emulator.close();
});

const publish = (...texts: string[]): void =>
  void emulator.publish(
    topic,
    texts.map((data) => ({ data })),
  );
const counts = (): number[] => {
  const { outstanding, backlog } = emulator.subscription(subscription);
  return [outstanding, backlog];
};

/** A stream, and what came over it. */
class Watched {
  readonly stream: PullStream;
  readonly responses: { readonly receivedMessages: readonly Delivery[]; readonly subscriptionProperties: object }[] =
    [];
  /** The status with which the stream ended. */
  ended: status | undefined;

  constructor(first: object = {}) {
    this.stream = client.stream({ subscription, streamAckDeadlineSeconds: 60, ...first });
    this.stream.on("data", (response: (typeof this.responses)[number]) => this.responses.push(response));
    this.stream.on("error", () => undefined);
    this.stream.on("status", ({ code }: { readonly code: status }) => (this.ended = code));
  }

  get deliveries(): Delivery[] {
    return this.responses.flatMap(({ receivedMessages }) => receivedMessages);
  }

  get texts(): string[] {
    return this.deliveries.map(({ message }) => message.data.toString());
  }

  has(count: number): Promise<boolean> {
    return eventually(`${count} messages`, () => (this.deliveries.length >= count ? true : undefined));
  }

  end(): Promise<status> {
    return eventually("the end of the stream", () => this.ended);
  }
}

describe("faults of unary calls", () => {
  const messages = [{ data: Buffer.from("x") }];
  const act = async (fault: Omit<Fault, "method">): Promise<unknown> => {
    emulator.faults.replace([{ method: "Publish", ...fault }]);
    return client.publish(topic, messages).catch((error: { code: status; details: string }) => error);
  };

  test("a status: nothing has happened", async () => {
    const error = await act({ call: 1, status: "RESOURCE_EXHAUSTED", message: "too much" });
    expect(error).toMatchObject({ code: status.RESOURCE_EXHAUSTED, details: "too much" });
    expect(counts()).toEqual([0, 0]);
    await client.publish(topic, messages);
    expect(counts()).toEqual([0, 1]);
  });

  test("a disconnect before: nothing has happened", async () => {
    expect(await act({ call: 1, disconnect: "before" })).toMatchObject({ code: status.UNAVAILABLE });
    expect(counts()).toEqual([0, 0]);
  });

  test("a disconnect after: it has happened, and the client does not know", async () => {
    expect(await act({ call: 1, disconnect: "after" })).toMatchObject({ code: status.UNAVAILABLE });
    expect(counts()).toEqual([0, 1]);
  });

  test("a status although it is done", async () => {
    expect(await act({ call: 1, status: "UNAVAILABLE", done: true })).toMatchObject({ code: status.UNAVAILABLE });
    expect(counts()).toEqual([0, 1]);
  });

  test.each([
    ["before", [0, 0]],
    ["after", [0, 1]],
  ] as const)("a connection reset %s", async (reset, expected) => {
    const error = await act({ call: 1, reset });
    expect(error).toMatchObject({ code: status.UNAVAILABLE, details: expect.stringContaining("ECONNRESET") });
    expect(counts()).toEqual(expected);
  });

  test.each([
    ["before", [0, 0]],
    ["after", [0, 1]],
  ] as const)("no answer ever, %s; the connection stays", async (hang, expected) => {
    let answered = false;
    void act({ call: 1, hang }).then(() => (answered = true));
    await eventually("the call came", () => (emulator.faults.calls("Publish") === 1 ? true : undefined));
    await client.publisherCall("GetTopic", { topic });
    expect([answered, ...counts()]).toEqual([false, ...expected]);
  });

  test("GOAWAY: what is open goes on, and what comes next comes over another connection", async () => {
    const watched = new Watched();
    publish("a");
    await watched.has(1);
    expect(await act({ call: 1, goaway: true })).toHaveLength(1);
    await watched.has(2);
    expect(await act({ call: 1, disconnect: "after" })).toMatchObject({ code: status.UNAVAILABLE });
    await watched.has(3);
    expect(watched.ended).toBeUndefined();
  });

  test("a delay of the answer alone", async () => {
    let answered = false;
    const answer = act({ call: 1, delayMs: 5000, done: true }).then(() => (answered = true));
    await eventually("it is done", () => (counts()[1] === 1 ? true : undefined));
    await clock.advance(4999);
    expect(answered).toBe(false);
    await clock.advance(1);
    await answer;
  });

  test("a delay, by the clock", async () => {
    let answered = false;
    const answer = act({ call: 1, delayMs: 5000 }).then(() => (answered = true));
    await eventually("the call came", () => (emulator.faults.calls("Publish") === 1 ? true : undefined));
    await clock.advance(4999);
    expect([answered, ...counts()]).toEqual([false, 0, 0]);
    await clock.advance(1);
    await answer;
    expect(counts()).toEqual([0, 1]);
  });

  test("a lost answer to a pull: the messages come again when their lease has run out", async () => {
    publish("a");
    emulator.faults.replace([{ method: "Pull", call: 1, disconnect: "after" }]);
    await expect(client.pull(subscription)).rejects.toMatchObject({ code: status.UNAVAILABLE });
    expect(counts()).toEqual([1, 0]);
    await clock.advance(10_000);
    expect((await client.pull(subscription)).map(({ message }) => message.data.toString())).toEqual(["a"]);
  });
});

describe("faults of a stream", () => {
  test("a status at its opening", async () => {
    emulator.faults.replace([{ method: "StreamingPull", call: 1, status: "PERMISSION_DENIED" }]);
    expect(await new Watched().end()).toBe(status.PERMISSION_DENIED);
  });

  test("a status at a later message: its acks are not taken", async () => {
    publish("a");
    emulator.faults.replace([{ method: "StreamingPull", call: 2, status: "UNAVAILABLE" }]);
    const watched = new Watched();
    await watched.has(1);
    watched.stream.write({ ackIds: [watched.deliveries[0]!.ackId] });
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    expect(counts()).toEqual([1, 0]);
  });

  test("a disconnect after a message: its acks are taken", async () => {
    publish("a");
    emulator.faults.replace([{ method: "StreamingPull", call: 2, disconnect: "after" }]);
    const watched = new Watched();
    await watched.has(1);
    watched.stream.write({ ackIds: [watched.deliveries[0]!.ackId] });
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    expect(counts()).toEqual([0, 0]);
  });

  test("a response that a disconnect swallows: its messages are held, and come again", async () => {
    emulator.faults.replace([{ method: "StreamingPull.deliver", call: 1, disconnect: "before" }]);
    const watched = new Watched();
    publish("a", "b");
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    expect(watched.texts).toEqual([]);
    expect(counts()).toEqual([2, 0]);
    const next = new Watched();
    await eventually("the stream is open", () => (emulator.faults.calls("StreamingPull") === 2 ? true : undefined));
    await clock.advance(60_000);
    await next.has(2);
    expect(next.texts).toEqual(["a", "b"]);
  });

  test("a response that arrives before the disconnect", async () => {
    emulator.faults.replace([{ method: "StreamingPull.deliver", call: 1, disconnect: "after" }]);
    publish("a");
    const watched = new Watched();
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    expect(watched.texts).toEqual(["a"]);
  });

  test.each([
    ["before", ["1", "2"]],
    ["after", ["1", "2", "3"]],
  ] as const)("a stream that ends %s its third message: what has not arrived is held", async (disconnect, arrived) => {
    emulator.faults.replace([{ method: "StreamingPull.message", call: 3, disconnect }]);
    publish("1", "2", "3", "4", "5");
    const watched = new Watched();
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    expect(watched.texts).toEqual(arrived);
    expect(counts()).toEqual([5, 0]);
  });

  test("a stream that falls silent: what it does not bring comes over another after its lease", async () => {
    emulator.faults.replace([{ method: "StreamingPull.message", call: 2, hang: "before" }]);
    publish("1", "2", "3");
    const watched = new Watched();
    await watched.has(1);
    const other = new Watched();
    await eventually("the stream is open", () => (emulator.faults.calls("StreamingPull") === 2 ? true : undefined));
    watched.stream.write({ ackIds: [watched.deliveries[0]!.ackId] });
    await clock.advance(60_000);
    await other.has(3);
    expect([watched.texts, watched.ended, other.texts]).toEqual([["1"], undefined, ["1", "2", "3"]]);
    watched.stream.cancel();
  });

  test("a response held back: later ones wait behind it", async () => {
    emulator.faults.replace([{ method: "StreamingPull.deliver", call: 1, delayMs: 3000 }]);
    const watched = new Watched();
    publish("a");
    await eventually("the first response", () => (emulator.faults.calls("StreamingPull.deliver") ? true : undefined));
    publish("b");
    await clock.advance(2999);
    expect([watched.texts, emulator.faults.calls("StreamingPull.deliver")]).toEqual([[], 1]);
    await clock.advance(1);
    await watched.has(2);
    expect(watched.texts).toEqual(["a", "b"]);
  });

  test("all connections cut at once", async () => {
    const watched = new Watched();
    publish("a");
    await watched.has(1);
    emulator.disconnectAll();
    expect(await watched.end()).toBe(status.UNAVAILABLE);
    await eventually("the client is back", () =>
      client.acknowledge(subscription, [watched.deliveries[0]!.ackId]).then(() => true),
    );
    expect(counts()).toEqual([0, 0]);
  });
});

describe("a stream", () => {
  test("is held back by max_outstanding_messages, and goes on with acks and nacks by unary calls", async () => {
    const watched = new Watched({ maxOutstandingMessages: 2 });
    publish("1", "2", "3", "4");
    await watched.has(2);
    expect(counts()).toEqual([2, 2]);
    await client.acknowledge(subscription, [watched.deliveries[0]!.ackId]);
    await watched.has(3);
    await client.modifyAckDeadline(subscription, [watched.deliveries[1]!.ackId], 0);
    await watched.has(4);
    expect(watched.texts).toEqual(["1", "2", "3", "2"]);
    expect(counts()).toEqual([2, 1]);
  });

  test("is held back by max_outstanding_bytes", async () => {
    const watched = new Watched({ maxOutstandingBytes: 1500 });
    publish(..."abcd".split("").map((letter) => letter.repeat(1000)));
    await watched.has(2);
    expect(counts()).toEqual([2, 2]);
  });

  test("has the ack deadline of its opening until it sets another", async () => {
    const watched = new Watched({ streamAckDeadlineSeconds: 20 });
    publish("a");
    await watched.has(1);
    await clock.advance(20_000);
    await watched.has(2);
    watched.stream.write({ streamAckDeadlineSeconds: 30, ackIds: [watched.deliveries[1]!.ackId] });
    await eventually("the ack", () => (counts()[0] === 0 ? true : undefined));
    publish("b");
    await watched.has(3);
    await clock.advance(29_990);
    expect(counts()).toEqual([1, 0]);
    expect(watched.deliveries).toHaveLength(3);
    await clock.advance(10);
    await watched.has(4);
  });

  test("says in every response whether the subscription is ordered", async () => {
    const ordered = `${subscription}-ordered`;
    emulator.createSubscription({ name: ordered, topic, enableMessageOrdering: true });
    const [plain, inOrder] = [new Watched(), new Watched({ subscription: ordered })];
    publish("a");
    await Promise.all([plain.has(1), inOrder.has(1)]);
    const properties = { exactlyOnceDeliveryEnabled: false };
    expect(plain.responses[0]!.subscriptionProperties).toEqual({ ...properties, messageOrderingEnabled: false });
    expect(inOrder.responses[0]!.subscriptionProperties).toEqual({ ...properties, messageOrderingEnabled: true });
  });

  test("answers pings from protocol version 1 on", async () => {
    const [silent, answering] = [new Watched(), new Watched({ protocolVersion: 1 })];
    silent.stream.write({});
    answering.stream.write({});
    await eventually("an answer", () => (answering.responses.length === 1 ? true : undefined));
    expect(answering.responses[0]!.receivedMessages).toEqual([]);
    expect(silent.responses).toEqual([]);
  });

  test.each([
    ["names the subscription again", { subscription }],
    ["sets flow control again", { maxOutstandingMessages: 5 }],
    ["has an ack ID of another server", { ackIds: ["1700000000000000-1"] }],
    ["has deadlines of another number than ack IDs", { modifyDeadlineSeconds: [10] }],
    ["sets a stream deadline below 10 s", { streamAckDeadlineSeconds: 9 }],
  ])("ends with INVALID_ARGUMENT when a later message %s", async (_what, later) => {
    const watched = new Watched();
    watched.stream.write(later);
    expect(await watched.end()).toBe(status.INVALID_ARGUMENT);
  });

  test("ends with OK when the client says no more, and its messages stay held", async () => {
    publish("a");
    const watched = new Watched();
    await watched.has(1);
    watched.stream.end();
    expect(await watched.end()).toBe(status.OK);
    expect(counts()).toEqual([1, 0]);
  });

  test("ends with UNAVAILABLE when the server closes", async () => {
    const watched = new Watched();
    publish("a");
    await watched.has(1);
    await emulator.close();
    expect(await watched.end()).toBe(status.UNAVAILABLE);
  });
});

describe("limits of requests", () => {
  test("an ack request above 512 KiB is refused", async () => {
    const ackIds = Array.from({ length: 9000 }, () => "x".repeat(60));
    await expect(client.acknowledge(subscription, ackIds)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("Request payload size exceeds the limit: 524288 bytes"),
    });
  });

  test("a deadline above 600 s is refused, and a pull of no messages", async () => {
    publish("a");
    const [delivery] = await client.pull(subscription);
    const refused = { code: status.INVALID_ARGUMENT };
    await expect(client.modifyAckDeadline(subscription, [delivery!.ackId], 601)).rejects.toMatchObject(refused);
    await expect(client.pull(subscription, 0)).rejects.toMatchObject(refused);
  });

  test("a pull without messages waits for 10 s, and takes what comes in the meantime", async () => {
    const empty = client.pull(subscription);
    await eventually("the pull came", () => (emulator.faults.calls("Pull") === 1 ? true : undefined));
    await clock.advance(10_000);
    expect(await empty).toEqual([]);
    const waiting = client.pull(subscription);
    await eventually("the pull came", () => (emulator.faults.calls("Pull") === 2 ? true : undefined));
    publish("late");
    expect((await waiting).map(({ message }) => message.data.toString())).toEqual(["late"]);
  });
});

test("what the server does not have is refused by name", async () => {
  const create = (options: object): Promise<void> => client.createSubscription(`${subscription}-x`, topic, options);
  const refused = (words: string): object => ({ code: status.UNIMPLEMENTED, details: expect.stringContaining(words) });
  await expect(create({ pushConfig: { pushEndpoint: "https://x" } })).rejects.toMatchObject(refused("push_config"));
  await expect(create({ bigqueryConfig: { table: "p.d.t" } })).rejects.toMatchObject(refused("bigquery_config"));
  const transforms = { name: `${topic}-x`, messageTransforms: [{ javascriptUdf: { functionName: "f", code: "" } }] };
  await expect(client.publisherCall("CreateTopic", transforms)).rejects.toMatchObject(refused("message_transforms"));
  const push = { subscription, pushConfig: { pushEndpoint: "https://x" } };
  await expect(client.subscriberCall("ModifyPushConfig", push)).rejects.toMatchObject(refused("push_config"));
  await client.subscriberCall("ModifyPushConfig", { subscription, pushConfig: {} });
});
