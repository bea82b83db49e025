import { describe, expect, test } from "vitest";
import { FakeConsumer } from "../../../support/fake-consumer.ts";
import { TestBroker, unackedTexts } from "../../../support/pubsub-broker.ts";

const seconds = (count: number): number => count * 1000;
const day = 24 * 3600;

/** A broker with one consumer that is attached to its subscription. */
function attached(
  options: ConstructorParameters<typeof TestBroker>[0] = {},
  consumer = new FakeConsumer(),
): { test: TestBroker; consumer: FakeConsumer } {
  const test = new TestBroker(options);
  test.subscription.attach(consumer);
  return { test, consumer };
}

describe("a lease", () => {
  test("ends after the ack deadline and not before", async () => {
    const { test, consumer } = attached();
    test.publish("a");
    expect(consumer.newTexts()).toEqual(["a"]);
    await test.clock.advance(9_990);
    expect(consumer.newTexts()).toEqual([]);
    await test.clock.advance(10);
    expect(consumer.newTexts()).toEqual(["a"]);
  });

  test("is as long as the holder's deadline says, not the subscription's", async () => {
    const { test, consumer } = attached({ ackDeadlineSeconds: 10 }, new FakeConsumer({ ackDeadlineMs: seconds(60) }));
    test.publish("a");
    await test.clock.advance(seconds(59));
    expect(consumer.newTexts()).toEqual(["a"]);
    await test.clock.advance(seconds(1));
    expect(consumer.newTexts()).toEqual(["a"]);
  });

  test("is counted from the moment of its extension, which may also shorten it", async () => {
    const { test, consumer } = attached();
    test.publish("longer", "shorter");
    await test.clock.advance(seconds(5));
    test.subscription.modifyDeadlines([consumer.latest("longer")], 30);
    test.subscription.modifyDeadlines([consumer.latest("shorter")], 1);
    consumer.newTexts();
    await test.clock.advance(seconds(1));
    expect(consumer.newTexts()).toEqual(["shorter"]);
    test.subscription.acknowledge([consumer.latest("shorter")]);
    await test.clock.advance(seconds(28.99));
    expect(consumer.newTexts()).toEqual([]);
    await test.clock.advance(seconds(0.01));
    expect(consumer.newTexts()).toEqual(["longer"]);
  });

  test("that ended can still be acked while the message waits, but not any more when it is handed out again", async () => {
    const { test, consumer } = attached();
    test.publish("a", "b");
    consumer.ready = false;
    await test.clock.advance(seconds(10));
    expect(test.subscription.backlog).toBe(2);
    test.subscription.acknowledge([consumer.latest("a")]);
    expect(unackedTexts(test.subscription)).toEqual(["b"]);

    const stale = consumer.latest("b");
    consumer.ready = true;
    test.subscription.distribute();
    test.subscription.acknowledge([stale]);
    expect(unackedTexts(test.subscription)).toEqual(["b"]);
    test.subscription.acknowledge([consumer.latest("b")]);
    expect(unackedTexts(test.subscription)).toEqual([]);
  });

  test("of each of many messages costs no timer of its own", () => {
    const { test } = attached();
    const before = test.clock.pending;
    for (let i = 0; i < 50; i++) test.publish(...Array.from({ length: 100 }, (_, n) => `${i}-${n}`));
    expect(test.subscription.outstanding).toBe(5000);
    expect(test.clock.pending - before).toBe(1);
  });

  test("outlives its consumer", async () => {
    const { test, consumer } = attached();
    test.publish("a");
    test.subscription.detach(consumer);
    const other = new FakeConsumer();
    test.subscription.attach(other);
    await test.clock.advance(9_990);
    expect(other.newTexts()).toEqual([]);
    await test.clock.advance(10);
    expect(other.newTexts()).toEqual(["a"]);
  });
});

describe("what is given back", () => {
  test("comes again at once, before what is new", () => {
    const { test, consumer } = attached({}, new FakeConsumer({ maxMessages: 2 }));
    test.publish("1", "2", "3", "4");
    expect(consumer.newTexts()).toEqual(["1", "2"]);
    test.subscription.modifyDeadlines([consumer.latest("2"), consumer.latest("1")], 0);
    expect(consumer.newTexts()).toEqual(["2", "1"]);
  });

  test("waits twice as long each time under a retry policy, up to its bound", async () => {
    const { test, consumer } = attached({
      retryPolicy: { minimumBackoff: { seconds: 2 }, maximumBackoff: { seconds: 5 } },
    });
    test.publish("a");
    for (const backoff of [2, 4, 5, 5]) {
      consumer.newTexts();
      test.subscription.modifyDeadlines([consumer.latest("a")], 0);
      expect([test.subscription.backlog, test.subscription.outstanding]).toEqual([1, 0]);
      await test.clock.advance(seconds(backoff) - 10);
      expect(consumer.newTexts()).toEqual([]);
      await test.clock.advance(10);
      expect(consumer.newTexts()).toEqual(["a"]);
    }
  });

  test("waits too when it was the lease that ran out", async () => {
    const { test, consumer } = attached({ retryPolicy: { minimumBackoff: { seconds: 3 }, maximumBackoff: null } });
    test.publish("a");
    consumer.newTexts();
    await test.clock.advance(seconds(12.99));
    expect(consumer.newTexts()).toEqual([]);
    await test.clock.advance(seconds(0.01));
    expect(consumer.newTexts()).toEqual(["a"]);
  });

  test("and then acked while it backs off does not come again", async () => {
    const { test, consumer } = attached({ retryPolicy: { minimumBackoff: { seconds: 3 }, maximumBackoff: null } });
    test.publish("a");
    test.subscription.modifyDeadlines([consumer.latest("a")], 0);
    test.subscription.acknowledge([consumer.latest("a")]);
    await test.clock.advance(seconds(60));
    expect(consumer.newTexts()).toEqual(["a"]);
    expect(unackedTexts(test.subscription)).toEqual([]);
  });
});

describe("flow control", () => {
  test("holds back by messages until some are settled", () => {
    const { test, consumer } = attached({}, new FakeConsumer({ maxMessages: 3 }));
    test.publish("1", "2", "3", "4", "5");
    expect(consumer.newTexts()).toEqual(["1", "2", "3"]);
    test.subscription.acknowledge([consumer.latest("2")]);
    expect(consumer.newTexts()).toEqual(["4"]);
    expect([test.subscription.outstanding, test.subscription.backlog]).toEqual([3, 1]);
  });

  test("holds back by bytes once the limit is reached", () => {
    // Each message has 1,000 bytes of data and some 30 more.
    const { test, consumer } = attached({}, new FakeConsumer({ maxBytes: 2500 }));
    const texts = ["a", "b", "c", "d"].map((letter) => letter.repeat(1000));
    test.publish(...texts);
    expect(consumer.newTexts()).toEqual(texts.slice(0, 3));
    test.subscription.acknowledge([consumer.latest(texts[0]!)]);
    expect(consumer.newTexts()).toEqual([texts[3]]);
  });

  test("gives room again when a lease runs out", async () => {
    const { test, consumer } = attached({}, new FakeConsumer({ maxMessages: 1 }));
    test.publish("1", "2");
    await test.clock.advance(seconds(10));
    expect(consumer.newTexts()).toEqual(["1", "1"]);
  });

  test("a response has 1,000 messages at most, and ends with the one that reaches a mebibyte", () => {
    const test = new TestBroker();
    const consumer = new FakeConsumer();
    test.publish(...Array.from({ length: 2500 }, (_, i) => String(i)));
    test.subscription.attach(consumer);
    expect(consumer.batches.map((batch) => batch.length)).toEqual([1000, 1000, 500]);
    test.subscription.detach(consumer);

    const large = new FakeConsumer();
    test.publish(...Array.from({ length: 5 }, () => "x".repeat(400_000)));
    test.subscription.attach(large);
    expect(large.batches.map((batch) => batch.length)).toEqual([3, 2]);
  });
});

describe("several consumers", () => {
  test("get equal shares of a backlog", () => {
    const test = new TestBroker();
    const consumers = [new FakeConsumer(), new FakeConsumer()];
    consumers.forEach((consumer) => (consumer.ready = false));
    for (const consumer of consumers) test.subscription.attach(consumer);
    test.publish(...Array.from({ length: 10 }, (_, i) => String(i)));
    consumers.forEach((consumer) => (consumer.ready = true));
    test.subscription.distribute();
    expect(consumers.map((consumer) => consumer.received.length)).toEqual([5, 5]);
  });

  test("take turns for single messages", () => {
    const test = new TestBroker();
    const consumers = [new FakeConsumer(), new FakeConsumer(), new FakeConsumer()];
    for (const consumer of consumers) test.subscription.attach(consumer);
    for (let i = 0; i < 30; i++) test.publish(String(i));
    for (const consumer of consumers) expect(consumer.received.length).toBeGreaterThanOrEqual(5);
    expect(
      consumers
        .flatMap((consumer) => consumer.newTexts())
        .map(Number)
        .toSorted((a, b) => a - b),
    ).toEqual(Array.from({ length: 30 }, (_, i) => i));
  });
});

describe("age", () => {
  test("a message older than the retention is dropped, whatever became of it", async () => {
    const { test, consumer } = attached({ messageRetentionDuration: { seconds: 600 } });
    consumer.ready = false;
    test.publish("old");
    await test.clock.advance(seconds(599));
    test.publish("new");
    await test.clock.advance(seconds(2));
    consumer.ready = true;
    test.subscription.distribute();
    expect(consumer.newTexts()).toEqual(["new"]);
    expect(unackedTexts(test.subscription)).toEqual(["new"]);
  });

  test("a subscription that nobody uses for its expiration period is deleted; use restarts the period", async () => {
    const retained = { messageRetentionDuration: { seconds: 600 } };
    const test = new TestBroker({ ...retained, expirationPolicy: { ttl: { seconds: day } } });
    const name = test.subscription.settings.name;
    await test.clock.advance(seconds(day - 1));
    const consumer = new FakeConsumer();
    test.subscription.attach(consumer);
    await test.clock.advance(seconds(5 * day));
    test.subscription.detach(consumer);
    await test.clock.advance(seconds(day - 1));
    expect(test.broker.subscription(name)).toBe(test.subscription);
    await test.clock.advance(seconds(1));
    expect(() => test.broker.subscription(name)).toThrow("Resource not found");
    expect(test.broker.topic("projects/test/topics/orders").subscriptions.size).toBe(0);
  });

  test("a subscription that never expires stays", async () => {
    const test = new TestBroker({ expirationPolicy: { ttl: null } });
    await test.clock.advance(seconds(400 * day));
    expect(test.broker.subscription(test.subscription.settings.name)).toBe(test.subscription);
  });
});

test("deleting tells the consumers, and leaves no timer", () => {
  const { test, consumer } = attached();
  test.publish("a");
  test.broker.deleteSubscription(test.subscription.settings.name);
  expect(consumer.ended).toMatchObject({ details: expect.stringContaining("Resource not found") });
  expect(test.clock.pending).toBe(0);
});
