/** Ordering keys (ORDER-01, -02, -04), seen through a subscription. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FakeConsumer, type HandedOut } from "../../../support/fake-consumer.ts";
import { TestBroker, unackedTexts } from "../../../support/pubsub-broker.ts";
import { propertySeed } from "../../../support/property-seed.ts";

const seconds = (count: number): number => count * 1000;

function ordered(options: object = {}, consumer = new FakeConsumer()): { test: TestBroker; consumer: FakeConsumer } {
  const test = new TestBroker({ enableMessageOrdering: true, ...options });
  test.subscription.attach(consumer);
  return { test, consumer };
}

const numbers = (consumer: FakeConsumer, ...texts: string[]): number[] => texts.map((text) => consumer.latest(text));

describe("with ordering", () => {
  test("keys take turns, and each is in order", () => {
    const test = new TestBroker({ enableMessageOrdering: true });
    test.publish("a:a1", "a:a2", "b:b1", "b:b2", "none");
    const consumer = new FakeConsumer();
    test.subscription.attach(consumer);
    const texts = consumer.newTexts();
    expect(texts.toSorted()).toEqual(["a1", "a2", "b1", "b2", "none"]);
    expect(texts.filter((text) => text.startsWith("a"))).toEqual(["a1", "a2"]);
    expect(texts.filter((text) => text.startsWith("b"))).toEqual(["b1", "b2"]);
  });

  test("while a message of a key is out, the next ones go to the same consumer only", () => {
    const { test, consumer } = ordered();
    test.publish("a:1");
    const other = new FakeConsumer();
    test.subscription.attach(other);
    for (let i = 2; i < 10; i++) test.publish(`a:${i}`);
    expect(other.newTexts()).toEqual([]);
    expect(consumer.newTexts()).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  });

  test("once nothing of a key is out, anybody may have it", () => {
    const { test, consumer } = ordered();
    test.publish("a:1");
    const other = new FakeConsumer();
    test.subscription.attach(other);
    consumer.ready = false;
    test.publish("a:2");
    expect(other.newTexts()).toEqual([]);
    test.subscription.acknowledge(numbers(consumer, "1"));
    expect(other.newTexts()).toEqual(["2"]);
  });

  test("a message given back brings all later ones of its key again, acked or not, and no earlier one", () => {
    const { test, consumer } = ordered();
    test.publish("a:1", "a:2", "a:3", "a:4", "b:other");
    consumer.newTexts();
    test.subscription.acknowledge(numbers(consumer, "4"));
    test.subscription.modifyDeadlines(numbers(consumer, "2"), 0);
    expect(consumer.newTexts()).toEqual(["2", "3", "4"]);
    expect(unackedTexts(test.subscription)).toEqual(["1", "2", "3", "4", "other"]);
  });

  test("a lease that runs out does the same", async () => {
    const { test, consumer } = ordered();
    test.publish("a:1", "a:2", "a:3");
    test.subscription.modifyDeadlines(numbers(consumer, "1", "3"), 60);
    consumer.newTexts();
    await test.clock.advance(seconds(10));
    expect(consumer.newTexts()).toEqual(["2", "3"]);
  });

  test("all given back in one request come again in order, once", () => {
    const { test, consumer } = ordered();
    test.publish("a:1", "a:2", "a:3");
    consumer.newTexts();
    test.subscription.modifyDeadlines(numbers(consumer, "1", "2", "3"), 0);
    expect(consumer.newTexts()).toEqual(["1", "2", "3"]);
  });

  test("an ack waits for the acks of earlier messages; its lease does not run out in the meantime", async () => {
    const { test, consumer } = ordered();
    test.publish("a:1", "a:2", "a:3");
    consumer.newTexts();
    test.subscription.acknowledge(numbers(consumer, "3", "2"));
    expect(unackedTexts(test.subscription)).toEqual(["1", "2", "3"]);
    test.subscription.modifyDeadlines(numbers(consumer, "1"), 60);
    await test.clock.advance(seconds(59));
    expect(consumer.newTexts()).toEqual([]);
    test.subscription.acknowledge(numbers(consumer, "1"));
    expect(unackedTexts(test.subscription)).toEqual([]);
  });

  test("an early ack frees flow control at once", () => {
    const { test, consumer } = ordered({}, new FakeConsumer({ maxMessages: 2 }));
    test.publish("a:1", "a:2", "a:3");
    test.subscription.acknowledge(numbers(consumer, "2"));
    expect(consumer.newTexts()).toEqual(["1", "2", "3"]);
  });

  test("backing off holds a key back, and no other key", async () => {
    const retryPolicy = { minimumBackoff: { seconds: 5 }, maximumBackoff: null };
    const { test, consumer } = ordered({ retryPolicy });
    test.publish("a:1", "a:2");
    consumer.newTexts();
    test.subscription.modifyDeadlines(numbers(consumer, "1"), 0);
    test.publish("a:3", "b:other");
    expect(consumer.newTexts()).toEqual(["other"]);
    await test.clock.advance(seconds(5));
    expect(consumer.newTexts()).toEqual(["1", "2", "3"]);
  });
});

test("a key that backs off is not put off by another failure of it", async () => {
  const retryPolicy = { minimumBackoff: { seconds: 5 }, maximumBackoff: null };
  const { test, consumer } = ordered({ retryPolicy });
  test.publish("a:1", "a:2");
  consumer.newTexts();
  test.subscription.modifyDeadlines(numbers(consumer, "2"), 0);
  await test.clock.advance(seconds(3));
  test.subscription.modifyDeadlines(numbers(consumer, "1"), 0);
  await test.clock.advance(seconds(2));
  expect(consumer.newTexts()).toEqual(["1", "2"]);
});

test("a key given back goes before messages that are new", async () => {
  const { test, consumer } = ordered();
  test.publish("a:1");
  consumer.newTexts();
  consumer.ready = false;
  test.publish("new", "b:new too");
  test.subscription.modifyDeadlines(numbers(consumer, "1"), 0);
  consumer.ready = true;
  test.subscription.distribute();
  expect(consumer.newTexts()).toEqual(["1", "new", "new too"]);
});

test("without ordering, keys mean nothing (ORDER-04)", () => {
  const test = new TestBroker();
  const consumer = new FakeConsumer();
  test.subscription.attach(consumer);
  test.publish("a:1", "a:2", "a:3");
  consumer.newTexts();
  test.subscription.acknowledge(numbers(consumer, "3"));
  expect(unackedTexts(test.subscription)).toEqual(["1", "2"]);
  test.subscription.modifyDeadlines(numbers(consumer, "1"), 0);
  expect(consumer.newTexts()).toEqual(["1"]);
});

const runs = Number(process.env["PROPERTY_RUNS"] ?? 300);

/** What consumers and publishers may do, and time; `pick` chooses among what there is at the moment. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("publish" as const), key: fc.constantFrom("", "", "a", "b") }),
  fc.record({ kind: fc.constant("ack" as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant("nack" as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant("extend" as const), pick: fc.nat(), seconds: fc.integer({ min: 1, max: 30 }) }),
  fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
  fc.record({ kind: fc.constant("hold" as const), consumer: fc.nat({ max: 2 }) }),
  fc.record({ kind: fc.constant("go on" as const), consumer: fc.nat({ max: 2 }) }),
);

test(`whatever happens, keys keep their order, leases are respected and nothing is lost, PROPERTY_SEED=${propertySeed}`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), fc.boolean(), async (steps, backsOff) => {
      const retryPolicy = backsOff ? { minimumBackoff: { seconds: 1 }, maximumBackoff: { seconds: 4 } } : null;
      const test = new TestBroker({ enableMessageOrdering: true, retryPolicy });
      const consumers = [3, 10, Infinity].map((maxMessages) => new FakeConsumer({ maxMessages, clock: test.clock }));
      for (const consumer of consumers) test.subscription.attach(consumer);
      const leases = new KeylessLeases();
      const published: string[] = [];
      const handedOut = (): number[] =>
        consumers.flatMap((consumer) => consumer.received.map(({ ackNumber }) => ackNumber)).toSorted((a, b) => a - b);
      const one = (pick: number): number[] =>
        handedOut()
          .slice(-20)
          .slice(pick % 20, (pick % 20) + 1);

      for (const action of steps) {
        if (action.kind === "publish") {
          const text = `${action.key || "free"}${published.length}`;
          published.push(text);
          test.publish(action.key ? `${action.key}:${text}` : text);
        } else if (action.kind === "ack") {
          leases.acked(one(action.pick)[0]);
          test.subscription.acknowledge(one(action.pick));
        } else if (action.kind === "nack") {
          leases.givenBack(one(action.pick)[0]);
          test.subscription.modifyDeadlines(one(action.pick), 0);
        } else if (action.kind === "extend") {
          leases.extended(one(action.pick)[0], test.clock.monotonic(), seconds(action.seconds));
          test.subscription.modifyDeadlines(one(action.pick), action.seconds);
        } else if (action.kind === "pass") await test.clock.advance(action.ms);
        else {
          consumers[action.consumer]!.ready = action.kind === "go on";
          test.subscription.distribute();
        }
        expectLimits(consumers);
        expect(leases.tooEarly(consumers)).toEqual([]);
      }
      expectOrder(consumers, published, "a");
      expectOrder(consumers, published, "b");

      for (const consumer of consumers) consumer.ready = true;
      // Everything still out comes again after a lease and a backoff; acking all of it, again and again, ends it.
      for (let round = 0; round < 30 && unackedTexts(test.subscription).length > 0; round++) {
        test.subscription.acknowledge(handedOut());
        await test.clock.advance(seconds(35));
      }
      expect(unackedTexts(test.subscription)).toEqual([]);
      expect([test.subscription.outstanding, test.subscription.backlog]).toEqual([0, 0]);
      expect(consumers.map(({ holder }) => [holder.messages, holder.bytes])).toEqual(consumers.map(() => [0, 0]));
      const seen = new Set(consumers.flatMap((consumer) => consumer.received.map(({ text }) => text)));
      expect([...seen].toSorted()).toEqual(published.toSorted());
    }),
    { seed: propertySeed, numRuns: runs },
  );
});

/** A second opinion on messages without a key: none comes while its lease runs, or after its ack. */
class KeylessLeases {
  readonly #leases = new Map<string, { ackNumber: number; untilMs: number }>();
  #checked = 0;

  acked(ackNumber: number | undefined): void {
    this.#change(ackNumber, Infinity);
  }

  givenBack(ackNumber: number | undefined): void {
    this.#change(ackNumber, 0);
  }

  /** A lease that has ended cannot be extended. */
  extended(ackNumber: number | undefined, nowMs: number, forMs: number): void {
    this.#change(ackNumber, nowMs + forMs, nowMs);
  }

  #change(ackNumber: number | undefined, untilMs: number, ifAfterMs = -1): void {
    for (const lease of this.#leases.values()) {
      if (lease.ackNumber === ackNumber && lease.untilMs > ifAfterMs) lease.untilMs = untilMs;
    }
  }

  /** Of what came since the last call, what should not have come yet. */
  tooEarly(consumers: readonly FakeConsumer[]): HandedOut[] {
    const fresh = consumers
      .flatMap((consumer) => consumer.received)
      .filter(({ ackNumber, text }) => ackNumber > this.#checked && text.startsWith("free"))
      .toSorted((a, b) => a.ackNumber - b.ackNumber);
    return fresh.filter(({ text, ackNumber, atMs }) => {
      this.#checked = ackNumber;
      const before = this.#leases.get(text)?.untilMs ?? 0;
      this.#leases.set(text, { ackNumber, untilMs: atMs + seconds(10) });
      return atMs < before;
    });
  }
}

function expectLimits(consumers: readonly FakeConsumer[]): void {
  for (const { holder } of consumers) expect(holder.messages).toBeLessThanOrEqual(holder.maxMessages);
}

/** A key's messages go on from where they were, or back to an earlier one; they never leave one out. */
function expectOrder(consumers: readonly FakeConsumer[], published: readonly string[], key: string): void {
  const order = published.filter((text) => text.startsWith(key));
  const handedOut = consumers
    .flatMap((consumer) => consumer.received)
    .filter(({ text }) => text.startsWith(key))
    .toSorted((a, b) => a.ackNumber - b.ackNumber)
    .map(({ text }) => order.indexOf(text));
  let last = -1;
  for (const place of handedOut) {
    expect(place).toBeLessThanOrEqual(last + 1);
    last = place;
  }
}
