/** What every Pub/Sub server must show: the embedded one and Google's emulator run the same suite. */
import { randomBytes } from "node:crypto";
import { type Metadata, status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Delivery, PubSubClient } from "../support/pubsub-client.ts";
import { describePubSubServers } from "../support/pubsub-servers.ts";

const texts = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ message }) => message.data.toString());
const ackIds = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ ackId }) => ackId);
const message = (text: string, orderingKey?: string) => ({
  data: Buffer.from(text),
  ...(orderingKey && { orderingKey }),
});

let serial = 0;

describePubSubServers("Pub/Sub", (server) => {
  let client: PubSubClient;
  let topic: string;
  let subscription: string;

  const subscribe = (options: object = {}): Promise<void> => client.createSubscription(subscription, topic, options);

  /** Pulls until that many messages have come. */
  const pull = async (count: number, from = subscription): Promise<Delivery[]> => {
    const deliveries: Delivery[] = [];
    while (deliveries.length < count) deliveries.push(...(await client.pull(from, count - deliveries.length)));
    return deliveries;
  };

  beforeAll(() => {
    client = new PubSubClient(server.address());
  });
  beforeEach(async () => {
    topic = `projects/test/topics/behaviour-${++serial}`;
    subscription = `projects/test/subscriptions/behaviour-${serial}`;
    await client.createTopic(topic);
  });
  afterEach(() => client.deleteSubscription(subscription).catch(() => undefined));
  afterAll(() => client.close());

  test("a message arrives byte for byte: data, attributes, ordering key, id", async () => {
    await subscribe();
    const data = randomBytes(3000);
    const attributes = { plain: "value", ключ: "значение 🚀", empty: "", "with space": "a\nb" };
    const [id] = await client.publish(topic, [{ data, attributes, orderingKey: "ключ/1" }]);
    const [delivery] = await pull(1);
    expect(delivery!.message).toMatchObject({ data, messageId: id, orderingKey: "ключ/1" });
    expect(delivery!.message.attributes).toEqual(attributes);
    expect(delivery!.deliveryAttempt).toBe(0);
  });

  test("message ids differ and come back in the order of the request", async () => {
    await subscribe();
    const ids = await client.publish(
      topic,
      ["a", "b", "c"].map((text) => message(text)),
    );
    expect(new Set(ids).size).toBe(3);
    const byId = new Map((await pull(3)).map((delivery) => [delivery.message.messageId, delivery]));
    expect(texts(ids.map((id) => byId.get(id)!))).toEqual(["a", "b", "c"]);
  });

  test("an acked message does not come again; one that was not acked does", async () => {
    await subscribe();
    await client.publish(topic, [message("acked"), message("kept")]);
    const deliveries = await pull(2);
    const [acked, kept] = ["acked", "kept"].map((text) => deliveries.filter((d) => texts([d])[0] === text));
    await client.acknowledge(subscription, ackIds(acked!));
    await client.modifyAckDeadline(subscription, ackIds(kept!), 1);
    expect(texts(await pull(1))).toEqual(["kept"]);
    expect(await client.pull(subscription, 10, true)).toEqual([]);
  });

  test("a nack brings the message back at once", async () => {
    await subscribe({ ackDeadlineSeconds: 600 });
    await client.publish(topic, [message("again")]);
    await client.modifyAckDeadline(subscription, ackIds(await pull(1)), 0);
    expect(texts(await pull(1))).toEqual(["again"]);
  });

  test("a lease that runs out brings the message back, an extended one does not", async () => {
    await subscribe({ ackDeadlineSeconds: 600 });
    await client.publish(topic, [message("short"), message("long")]);
    const deliveries = await pull(2);
    const short = deliveries.filter((delivery) => texts([delivery])[0] === "short");
    const before = performance.now();
    await client.modifyAckDeadline(subscription, ackIds(short), 1);
    expect(texts(await pull(1))).toEqual(["short"]);
    expect(performance.now() - before).toBeGreaterThan(900);
    expect(await client.pull(subscription, 10, true)).toEqual([]);
  });

  test("every subscription of a topic gets every message; nothing is kept for later ones", async () => {
    const other = `${subscription}-other`;
    const late = `${subscription}-late`;
    await subscribe();
    await client.createSubscription(other, topic);
    await client.publish(topic, [message("both")]);
    await client.createSubscription(late, topic);
    expect(texts(await pull(1))).toEqual(["both"]);
    expect(texts(await pull(1, other))).toEqual(["both"]);
    expect(await client.pull(late, 1, true)).toEqual([]);
    await client.deleteSubscription(other);
    await client.deleteSubscription(late);
  });

  test("the messages of an ordering key come in order over a stream", async () => {
    await subscribe({ enableMessageOrdering: true });
    const numbers = Array.from({ length: 50 }, (_, i) => i);
    await client.publish(
      topic,
      numbers.map((i) => message(String(i), "k")),
    );
    expect(await streamed(50)).toEqual(numbers.map(String));
  });

  test("all messages of a key given back come again in order", async () => {
    await subscribe({ enableMessageOrdering: true, ackDeadlineSeconds: 600 });
    await client.publish(
      topic,
      ["1", "2", "3"].map((text) => message(text, "k")),
    );
    const first = await pull(3);
    expect(texts(first)).toEqual(["1", "2", "3"]);
    await client.modifyAckDeadline(subscription, ackIds(first), 0);
    expect(texts(await pull(3))).toEqual(["1", "2", "3"]);
  });

  test("an ack ahead of earlier messages of its key does not count when those come again", async () => {
    await subscribe({ enableMessageOrdering: true, ackDeadlineSeconds: 600 });
    await client.publish(
      topic,
      ["1", "2", "3"].map((text) => message(text, "k")),
    );
    const first = await pull(3);
    await client.acknowledge(subscription, [first[2]!.ackId]);
    await client.modifyAckDeadline(subscription, ackIds(first.slice(0, 2)), 1);
    expect(texts(await pull(3))).toEqual(["1", "2", "3"]);
  });

  test("exactly-once delivery: an ack ID that was used or replaced fails alone, the others of its request succeed", async () => {
    await subscribe({ enableExactlyOnceDelivery: true });
    await client.publish(topic, [message("a"), message("b"), message("c")]);
    const first = await pull(3);
    const [a, b, c] = ["a", "b", "c"].map((text) => first.find((delivery) => texts([delivery])[0] === text)!.ackId);
    await client.acknowledge(subscription, [a!]);
    await client.modifyAckDeadline(subscription, [b!], 0);
    const [again] = await pull(1);
    const error = await client.acknowledge(subscription, [a!, b!, c!]).then(
      () => undefined,
      (error: { readonly code: status; readonly metadata: Metadata }) => error,
    );
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    const details = String(error!.metadata.get("grpc-status-details-bin")[0]);
    expect([a!, b!, c!].map((id) => details.includes(`${id}\u0012\u0020PERMANENT_FAILURE_INVALID_ACK_ID`))).toEqual([
      true,
      true,
      false,
    ]);
    await client.acknowledge(subscription, [again!.ackId]);
    expect(await client.pull(subscription, 10, true)).toEqual([]);
  });

  test("exactly-once delivery with ordering: an ack ahead of an earlier message fails for the time being", async () => {
    await subscribe({ enableExactlyOnceDelivery: true, enableMessageOrdering: true });
    await client.publish(topic, [message("1", "k"), message("2", "k")]);
    const [one, two] = ackIds(await pull(2));
    await expect(client.acknowledge(subscription, [two!])).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
    await client.acknowledge(subscription, [one!]);
    await client.acknowledge(subscription, [two!]);
    expect(await client.pull(subscription, 10, true)).toEqual([]);
  });

  test("seeking to a time brings acked messages again, where they are kept; to a snapshot, what was not acked", async () => {
    await subscribe({ retainAckedMessages: true });
    const start = { seconds: Math.floor(Date.now() / 1000) - 60 };
    await client.publish(topic, [message("1"), message("2")]);
    const snapshot = subscription.replace("subscriptions", "snapshots");
    const [first, second] = await pull(2);
    await client.acknowledge(subscription, ackIds([first!]));
    await client.subscriberCall("CreateSnapshot", { name: snapshot, subscription });
    await client.acknowledge(subscription, ackIds([second!]));
    await client.subscriberCall("Seek", { subscription, time: start });
    expect(texts(await pull(2)).toSorted()).toEqual(["1", "2"]);
    await client.subscriberCall("Seek", { subscription, snapshot });
    expect(texts(await pull(1))).toEqual(texts([second!]));
    await client.subscriberCall("DeleteSnapshot", { snapshot });
  });

  test("after the last attempt a message goes to the dead-letter topic, with what it was and where it came from", async () => {
    const deadTopic = `${topic}-dead`;
    const deadSubscription = `${subscription}-dead`;
    await client.createTopic(deadTopic);
    await client.createSubscription(deadSubscription, deadTopic);
    await subscribe({ deadLetterPolicy: { deadLetterTopic: deadTopic, maxDeliveryAttempts: 5 } });
    const data = randomBytes(100);
    await client.publish(topic, [{ data, attributes: { tenant: "t1" }, orderingKey: "k" }]);
    const attempts: number[] = [];
    for (let i = 0; i < 5; i++) {
      const [delivery] = await pull(1);
      attempts.push(delivery!.deliveryAttempt);
      await client.modifyAckDeadline(subscription, [delivery!.ackId], 0);
    }
    expect(attempts).toEqual([1, 2, 3, 4, 5]);
    // Google's emulator forwards when it would deliver once more.
    expect(await client.pull(subscription, 1, true)).toEqual([]);
    const [letter] = await pull(1, deadSubscription);
    expect(letter!.message).toMatchObject({ data, orderingKey: "k" });
    expect(letter!.message.attributes).toEqual({
      tenant: "t1",
      CloudPubSubDeadLetterSourceDeliveryCount: "5",
      CloudPubSubDeadLetterSourceSubscription: subscription.split("/")[3],
      CloudPubSubDeadLetterSourceSubscriptionProject: "test",
      CloudPubSubDeadLetterSourceTopicPublishTime: expect.stringMatching(
        /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|\+00:00)$/,
      ),
    });
    await client.deleteSubscription(deadSubscription);
  });

  test("acks and nacks on a stream", async () => {
    await subscribe();
    await client.publish(topic, [message("acked"), message("given back")]);
    const stream = client.stream({ subscription, streamAckDeadlineSeconds: 600 });
    const seen: string[] = [];
    await new Promise<void>((resolve, reject) => {
      stream.on("error", reject);
      stream.on("data", ({ receivedMessages }: { receivedMessages: readonly Delivery[] }) => {
        for (const delivery of receivedMessages) {
          const text = texts([delivery])[0]!;
          const first = !seen.includes(text);
          seen.push(text);
          if (text === "given back" && first) {
            stream.write({ modifyDeadlineAckIds: [delivery.ackId], modifyDeadlineSeconds: [0] });
          } else {
            stream.write({ ackIds: [delivery.ackId] });
          }
        }
        if (seen.length === 3) resolve();
      });
    });
    expect(seen.toSorted()).toEqual(["acked", "given back", "given back"]);
    await ended(stream);
    expect(await client.pull(subscription, 10, true)).toEqual([]);
  });

  test("streams share the messages out", async () => {
    await subscribe();
    const streams = [1, 2].map(() => client.stream({ subscription, streamAckDeadlineSeconds: 60 }));
    const seen: string[] = [];
    for (const stream of streams) {
      stream.on("data", ({ receivedMessages }: { receivedMessages: readonly Delivery[] }) => {
        seen.push(...texts(receivedMessages));
        stream.write({ ackIds: ackIds(receivedMessages) });
      });
    }
    const numbers = Array.from({ length: 400 }, (_, i) => i);
    for (let i = 0; i < 400; i += 20) {
      await client.publish(
        topic,
        numbers.slice(i, i + 20).map((n) => message(String(n))),
      );
    }
    await eventually("400 messages came", () => (seen.length >= 400 ? true : undefined));
    expect(seen.map(Number).toSorted((x, y) => x - y)).toEqual(numbers);
    await Promise.all(streams.map(ended));
  });

  test.each([
    ["a topic that exists", () => client.createTopic(topic), status.ALREADY_EXISTS],
    ["a topic with a bad name", () => client.createTopic("projects/test/topics/1"), status.INVALID_ARGUMENT],
    [
      "a subscription of a missing topic",
      () => client.createSubscription(subscription, `${topic}-none`),
      status.NOT_FOUND,
    ],
    ["a deadline above 600 s", () => subscribe({ ackDeadlineSeconds: 601 }), status.INVALID_ARGUMENT],
    [
      "a backoff above 600 s",
      () => subscribe({ retryPolicy: { maximumBackoff: { seconds: 601 } } }),
      status.INVALID_ARGUMENT,
    ],
    [
      "a retention below 10 minutes",
      () => subscribe({ messageRetentionDuration: { seconds: 599 } }),
      status.INVALID_ARGUMENT,
    ],
    ["publishing to a missing topic", () => client.publish(`${topic}-none`, [message("x")]), status.NOT_FOUND],
    ["an empty message", () => client.publish(topic, [{ data: Buffer.alloc(0) }]), status.INVALID_ARGUMENT],
    ["pulling from a missing subscription", () => client.pull(`${subscription}-none`), status.NOT_FOUND],
  ])("refused: %s", async (_what, act, code) => {
    await expect(act()).rejects.toMatchObject({ code });
  });

  test("refused: a malformed ack ID", async () => {
    await subscribe();
    await expect(client.acknowledge(subscription, ["no ack ID"])).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
    });
  });

  test("an ack that comes twice is no error", async () => {
    await subscribe();
    await client.publish(topic, [message("x")]);
    const [delivery] = await pull(1);
    await client.acknowledge(subscription, [delivery!.ackId]);
    await expect(client.acknowledge(subscription, [delivery!.ackId])).resolves.toBeUndefined();
  });

  test("a stream of a missing subscription ends with NOT_FOUND, one without a deadline with INVALID_ARGUMENT", async () => {
    await subscribe();
    expect(await failure({ subscription: `${subscription}-none`, streamAckDeadlineSeconds: 60 })).toBe(
      status.NOT_FOUND,
    );
    expect(await failure({ subscription, streamAckDeadlineSeconds: 9 })).toBe(status.INVALID_ARGUMENT);
  });

  test("deleting a subscription ends its streams with NOT_FOUND", async () => {
    await subscribe();
    const code = failure({ subscription, streamAckDeadlineSeconds: 60 });
    await client.publish(topic, [message("x")]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await client.deleteSubscription(subscription);
    expect(await code).toBe(status.NOT_FOUND);
  });

  test("a backlog outlives its topic", async () => {
    await subscribe();
    await client.publish(topic, [message("kept")]);
    await client.publisherCall("DeleteTopic", { topic });
    expect(texts(await pull(1))).toEqual(["kept"]);
    expect(await client.subscriberCall("GetSubscription", { subscription })).toMatchObject({
      topic: "_deleted-topic_",
    });
  });

  /** The texts that a stream brings, in order, until there are so many; each response is acked. */
  function streamed(count: number): Promise<string[]> {
    const stream = client.stream({ subscription, streamAckDeadlineSeconds: 60 });
    const seen: string[] = [];
    return new Promise((resolve, reject) => {
      stream.on("error", reject);
      stream.on("data", ({ receivedMessages }: { receivedMessages: readonly Delivery[] }) => {
        seen.push(...texts(receivedMessages));
        stream.write({ ackIds: ackIds(receivedMessages) });
        if (seen.length >= count) void ended(stream).then(() => resolve(seen));
      });
    });
  }

  /** The status with which a stream ends. */
  function failure(first: object): Promise<status> {
    const stream = client.stream(first);
    return new Promise((resolve) => {
      stream.on("data", () => undefined);
      stream.on("error", (error: Error & { readonly code: status }) => resolve(error.code));
    });
  }
});

/** Cancels a stream and waits until it is over. */
function ended(stream: ReturnType<PubSubClient["stream"]>): Promise<void> {
  return new Promise((resolve) => {
    stream.removeAllListeners("error");
    stream.on("error", () => resolve());
    setTimeout(() => stream.cancel(), 100);
  });
}
