import { expect, test } from "vitest";
import { FakeConsumer } from "../../../support/fake-consumer.ts";
import { TestBroker, unacked, unackedTexts } from "../../../support/pubsub-broker.ts";
import type { Subscription } from "../../../../src/emulator/pubsub/subscription.ts";

const deadLetterPolicy = { deadLetterTopic: "projects/test/topics/dead", maxDeliveryAttempts: 5 };

function withDeadLetters(options: object = {}): { test: TestBroker; consumer: FakeConsumer; dead: Subscription } {
  const test = new TestBroker({ deadLetterPolicy, ...options });
  const consumer = new FakeConsumer();
  test.subscription.attach(consumer);
  return { test, consumer, dead: test.subscribe("projects/test/subscriptions/dead", deadLetterPolicy.deadLetterTopic) };
}

test("nacks and expired leases count; after the fifth the message is forwarded as it was", async () => {
  const { test, consumer, dead } = withDeadLetters();
  test.publish("a");
  for (let i = 0; i < 2; i++) test.subscription.modifyDeadlines([consumer.latest("a")], 0);
  await test.clock.advance(20_000);
  expect(consumer.received.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
  expect(unacked(dead)).toEqual([]);
  test.subscription.modifyDeadlines([consumer.latest("a")], 0);
  expect(unackedTexts(test.subscription)).toEqual([]);
  const [letter] = unacked(dead);
  expect(letter).toMatchObject({ orderingKey: "", publishTimeMs: 1_700_000_020_000 });
  expect(letter!.data.toString()).toBe("a");
  // The virtual clock begins at 1,700,000,000,000 ms; the form of the time is the real service's.
  expect(letter!.attributes).toEqual({
    CloudPubSubDeadLetterSourceDeliveryCount: "5",
    CloudPubSubDeadLetterSourceSubscription: "orders",
    CloudPubSubDeadLetterSourceSubscriptionProject: "test",
    CloudPubSubDeadLetterSourceTopicPublishTime: "2023-11-14T22:13:20.000+00:00",
  });
});

test("an acked message is not forwarded, and its neighbours neither", async () => {
  const { test, consumer, dead } = withDeadLetters();
  test.publish("acked", "bad");
  test.subscription.acknowledge([consumer.latest("acked")]);
  for (let i = 0; i < 5; i++) test.subscription.modifyDeadlines([consumer.latest("bad")], 0);
  await test.clock.advance(60_000);
  expect(unackedTexts(dead)).toEqual(["bad"]);
});

test("with a key, the messages behind a forwarded one go on", () => {
  const { test, consumer, dead } = withDeadLetters({ enableMessageOrdering: true });
  test.publish("k:1", "k:2", "k:3");
  for (let i = 0; i < 5; i++) test.subscription.modifyDeadlines([consumer.latest("1")], 0);
  expect(unacked(dead).map(({ data, orderingKey }) => [data.toString(), orderingKey])).toEqual([["1", "k"]]);
  expect(consumer.newTexts().slice(-2)).toEqual(["2", "3"]);
  expect(unackedTexts(test.subscription)).toEqual(["2", "3"]);
});

test("with a key, every nack of one request counts for its own message", () => {
  const { test, consumer, dead } = withDeadLetters({ enableMessageOrdering: true });
  test.publish("k:1", "k:2");
  for (let i = 0; i < 5; i++) {
    test.subscription.modifyDeadlines([consumer.latest("1"), consumer.latest("2")], 0);
  }
  expect(unackedTexts(dead)).toEqual(["1", "2"]);
  expect(unackedTexts(test.subscription)).toEqual([]);
});

test("without the dead-letter topic the message stays", () => {
  const { test, consumer } = withDeadLetters();
  test.broker.deleteTopic(deadLetterPolicy.deadLetterTopic);
  test.publish("a");
  for (let i = 0; i < 7; i++) test.subscription.modifyDeadlines([consumer.latest("a")], 0);
  expect(consumer.received.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(unackedTexts(test.subscription)).toEqual(["a"]);
});
