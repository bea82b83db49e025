/** Google's own Node clients against the embedded Pub/Sub. */
import { type Message, PubSub, type Subscription, v1 } from "@google-cloud/pubsub";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { eventually } from "../support/eventually.ts";

let emulator: PubSubEmulator;
let client: PubSub;
let serial = 0;
let topic: string;
let subscription: string;

const handle = (): ReturnType<PubSubEmulator["subscription"]> =>
  emulator.subscription(`projects/test/subscriptions/${subscription}`);

/** Collects what a high-level subscription brings; `decide` acks or nacks. */
function collect(from: Subscription, decide: (message: Message, seen: readonly Message[]) => void): Message[] {
  const seen: Message[] = [];
  from.on("message", (message: Message) => {
    seen.push(message);
    decide(message, seen);
  });
  return seen;
}

const arrived = (seen: readonly Message[], count: number): Promise<boolean> =>
  eventually(`${count} messages`, () => (seen.length >= count ? true : undefined));

beforeAll(async () => {
  emulator = await startPubSubEmulator();
  process.env["PUBSUB_EMULATOR_HOST"] = `${emulator.host}:${emulator.port}`;
  client = new PubSub({ projectId: "test" });
});
beforeEach(() => {
  topic = `clients-${++serial}`;
  subscription = `clients-${serial}`;
});
afterEach(() => emulator.faults.replace([]));
afterAll(async () => {
  await client.close();
  await emulator.close();
  delete process.env["PUBSUB_EMULATOR_HOST"];
});

test("publish, subscribe, ack: every message once, with what it carried", async () => {
  const [created] = await client.createTopic(topic);
  const [subscribed] = await created.createSubscription(subscription);
  const seen = collect(subscribed, (message) => message.ack());
  const numbers = Array.from({ length: 500 }, (_, i) => i);
  const ids = await Promise.all(
    numbers.map((i) => created.publishMessage({ data: Buffer.from(String(i)), attributes: { n: `№ ${i}` } })),
  );
  await arrived(seen, 500);
  await subscribed.close();
  expect(seen.map(({ data }) => Number(data.toString())).toSorted((a, b) => a - b)).toEqual(numbers);
  const byId = new Map(seen.map((message) => [message.id, message]));
  for (const [i, id] of ids.entries()) expect(byId.get(id)).toMatchObject({ attributes: { n: `№ ${i}` } });
  expect(seen[0]!.publishTime.getTime()).toBeGreaterThan(Date.now() - 60_000);
  expect([handle().outstanding, handle().backlog]).toEqual([0, 0]);
});

test("nack brings a message again", async () => {
  const [created] = await client.createTopic(topic);
  const [subscribed] = await created.createSubscription(subscription);
  const seen = collect(subscribed, (message, all) => (all.length < 3 ? message.nack() : message.ack()));
  await created.publishMessage({ data: Buffer.from("again") });
  await arrived(seen, 3);
  await subscribed.close();
  expect(seen.map(({ data }) => data.toString())).toEqual(["again", "again", "again"]);
  expect(handle().messages()).toEqual([]);
});

test("ordered publishing arrives in order, key by key", async () => {
  const [created] = await client.createTopic(topic);
  created.setPublishOptions({ messageOrdering: true });
  const [subscribed] = await created.createSubscription(subscription, { enableMessageOrdering: true });
  const seen = collect(subscribed, (message) => message.ack());
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  await Promise.all(
    numbers.map((i) => created.publishMessage({ data: Buffer.from(String(i)), orderingKey: `key-${i % 3}` })),
  );
  await arrived(seen, 200);
  await subscribed.close();
  for (const rest of [0, 1, 2]) {
    const ofKey = seen.filter(({ orderingKey }) => orderingKey === `key-${rest}`);
    expect(ofKey.map(({ data }) => Number(data.toString()))).toEqual(numbers.filter((i) => i % 3 === rest));
  }
});

test("dead letters: the delivery attempt counts up, and the fifth nack forwards", async () => {
  const [created] = await client.createTopic(topic);
  const [dead] = await client.createTopic(`${topic}-dead`);
  await dead.createSubscription(`${subscription}-dead`);
  const [subscribed] = await created.createSubscription(subscription, {
    deadLetterPolicy: { deadLetterTopic: dead.name, maxDeliveryAttempts: 5 },
  });
  const seen = collect(subscribed, (message) => message.nack());
  await created.publishMessage({ data: Buffer.from("bad") });
  const letters = emulator.subscription(`projects/test/subscriptions/${subscription}-dead`);
  await eventually("a dead letter", () => (letters.backlog > 0 ? true : undefined));
  await subscribed.close();
  expect(seen.map(({ deliveryAttempt }) => deliveryAttempt)).toEqual([1, 2, 3, 4, 5]);
  expect(letters.messages()[0]!.attributes).toMatchObject({ CloudPubSubDeadLetterSourceDeliveryCount: "5" });
});

test("administration: metadata, labels, retry policy, lists, deletion", async () => {
  const [created] = await client.createTopic(topic);
  const [subscribed] = await created.createSubscription(subscription, { ackDeadlineSeconds: 33 });
  await subscribed.setMetadata({ labels: { team: "a" }, retryPolicy: { minimumBackoff: { seconds: 2 } } });
  const [metadata] = await subscribed.getMetadata();
  expect(metadata).toMatchObject({
    topic: created.name,
    ackDeadlineSeconds: 33,
    labels: { team: "a" },
    retryPolicy: { minimumBackoff: { seconds: "2" }, maximumBackoff: { seconds: "600" } },
  });
  const [subscriptions] = await created.getSubscriptions();
  expect(subscriptions.map(({ name }) => name)).toEqual([subscribed.name]);
  const [topics] = await client.getTopics();
  expect(topics.map(({ name }) => name)).toContain(created.name);
  await subscribed.delete();
  expect(await subscribed.exists()).toEqual([false]);
  await created.delete();
  expect(await created.exists()).toEqual([false]);
});

test("the generated client: publish, pull, acknowledge, streamingPull", async () => {
  const config = (await client.getClientConfig()) as ConstructorParameters<typeof v1.PublisherClient>[0];
  const publisher = new v1.PublisherClient(config);
  const subscriber = new v1.SubscriberClient(config);
  const names = { topic: `projects/test/topics/${topic}`, subscription: `projects/test/subscriptions/${subscription}` };
  await publisher.createTopic({ name: names.topic });
  await subscriber.createSubscription({ name: names.subscription, topic: names.topic });
  const [published] = await publisher.publish({
    topic: names.topic,
    messages: [1, 2, 3].map((i) => ({ data: Buffer.from(`m${i}`), attributes: { i: String(i) } })),
  });

  const [pulled] = await subscriber.pull({ subscription: names.subscription, maxMessages: 2 });
  expect(pulled.receivedMessages!.map(({ message }) => message!.messageId)).toEqual(published.messageIds!.slice(0, 2));
  const [first, second] = pulled.receivedMessages!.map(({ ackId }) => ackId!);
  await subscriber.acknowledge({ subscription: names.subscription, ackIds: [first!] });
  await subscriber.modifyAckDeadline({ subscription: names.subscription, ackIds: [second!], ackDeadlineSeconds: 0 });

  const stream = subscriber.streamingPull();
  const seen: string[] = [];
  stream.on("data", (response: { receivedMessages: { ackId: string; message: { data: Buffer } }[] }) => {
    seen.push(...response.receivedMessages.map(({ message }) => message.data.toString()));
    stream.write({ ackIds: response.receivedMessages.map(({ ackId }) => ackId) });
  });
  stream.write({ subscription: names.subscription, streamAckDeadlineSeconds: 60 });
  await eventually("two messages", () => (seen.length >= 2 ? true : undefined));
  await eventually("the acks", () => (handle().messages().length === 0 ? true : undefined));
  stream.end();
  expect(seen.toSorted()).toEqual(["m2", "m3"]);
  await publisher.close();
  await subscriber.close();
});

test("the high-level subscriber survives streams that end and connections that are cut", async () => {
  const [created] = await client.createTopic(topic);
  const [subscribed] = await created.createSubscription(subscription);
  emulator.faults.replace([
    { method: "StreamingPull.deliver", call: 3, status: "UNAVAILABLE" },
    { method: "StreamingPull.deliver", call: 6, disconnect: "after" },
  ]);
  const seen = collect(subscribed, (message) => message.ack());
  const numbers = Array.from({ length: 300 }, (_, i) => i);
  for (let i = 0; i < 300; i += 30) {
    await Promise.all(numbers.slice(i, i + 30).map((n) => created.publishMessage({ data: Buffer.from(String(n)) })));
  }
  await eventually("nothing is left", () => (handle().messages().length === 0 ? true : undefined), 25_000);
  await subscribed.close();
  expect([...new Set(seen.map(({ data }) => Number(data.toString())))].toSorted((a, b) => a - b)).toEqual(numbers);
});
