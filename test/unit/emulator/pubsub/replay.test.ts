/** What is kept after an ack, and how it comes again: seek, snapshots, retention of subscriptions and topics. */
import { describe, expect, test } from "vitest";
import { FakeConsumer } from "../../../support/fake-consumer.ts";
import { TestBroker, unackedTexts } from "../../../support/pubsub-broker.ts";

const topic = "projects/test/topics/orders";
const snapshot = "projects/test/snapshots/before";
const minutes = (count: number): number => count * 60_000;
const days = (count: number): number => count * 24 * 60 * 60_000;

class Replay {
  readonly test: TestBroker;
  readonly consumer = new FakeConsumer();

  constructor(options: object = {}) {
    this.test = new TestBroker(options);
    this.test.subscription.attach(this.consumer);
  }

  get name(): string {
    return this.test.subscription.settings.name;
  }

  get now(): number {
    return this.test.clock.now();
  }

  /** Publishes these, each a minute after the other, and returns when the first was published. */
  async publishMinutely(...texts: string[]): Promise<number> {
    const first = this.now;
    for (const text of texts) {
      this.test.publish(text);
      await this.test.clock.advance(minutes(1));
    }
    return first;
  }

  ack(...texts: string[]): void {
    this.test.subscription.acknowledge(texts.map((text) => this.consumer.latest(text)));
  }

  snapshot(labels = {}): void {
    this.test.broker.createSnapshot({ name: snapshot, subscription: this.name, labels });
  }

  seek(to: number | string): void {
    this.consumer.newTexts();
    if (typeof to === "number") this.test.broker.seekToTime(this.name, to);
    else this.test.broker.seekToSnapshot(this.name, to);
  }
}

const retaining = { retainAckedMessages: true, ackDeadlineSeconds: 600 };

describe("seeking to a time", () => {
  test("brings acked messages again from that time on, where they are kept (COMMON-06)", async () => {
    const replay = new Replay(retaining);
    const first = await replay.publishMinutely("1", "2", "3");
    replay.ack("1", "2", "3");
    replay.seek(first + minutes(1));
    expect(replay.consumer.newTexts()).toEqual(["2", "3"]);
    expect(unackedTexts(replay.test.subscription)).toEqual(["2", "3"]);
  });

  test("brings only what is not acked where acked messages are not kept", async () => {
    const replay = new Replay({ ackDeadlineSeconds: 600 });
    const first = await replay.publishMinutely("1", "2", "3");
    replay.ack("1", "3");
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["2"]);
  });

  test("into the future acks everything; what was acked that way can be sought back", async () => {
    const replay = new Replay(retaining);
    const first = await replay.publishMinutely("1", "2");
    replay.seek(replay.now + minutes(60));
    expect([unackedTexts(replay.test.subscription), replay.consumer.newTexts()]).toEqual([[], []]);
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["1", "2"]);
  });

  test("ends leases: the flow control of who held the messages is free, and its ack numbers mean nothing", async () => {
    const replay = new Replay(retaining);
    const first = await replay.publishMinutely("1", "2");
    const before = ["1", "2"].map((text) => replay.consumer.latest(text));
    replay.consumer.ready = false;
    replay.seek(first);
    expect([replay.consumer.holder.messages, replay.consumer.holder.bytes]).toEqual([0, 0]);
    replay.test.subscription.acknowledge(before);
    expect(unackedTexts(replay.test.subscription)).toEqual(["1", "2"]);
    expect([replay.test.subscription.outstanding, replay.test.subscription.backlog]).toEqual([0, 2]);
  });

  test("keeps the order of keys", async () => {
    const replay = new Replay({ ...retaining, enableMessageOrdering: true });
    const first = await replay.publishMinutely("k:1", "k:2", "k:3", "k:4");
    replay.ack("1", "2");
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["1", "2", "3", "4"]);
    replay.ack("1", "2", "3", "4");
    expect(unackedTexts(replay.test.subscription)).toEqual([]);
  });

  test("brings nothing that is older than the retention", async () => {
    const replay = new Replay({ ...retaining, messageRetentionDuration: { seconds: 600 } });
    const first = await replay.publishMinutely("1", "2", "3");
    replay.ack("1", "2", "3");
    await replay.test.clock.advance(minutes(8) + 1);
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["3"]);
  });

  test("forgets what is kept when keeping is switched off", async () => {
    const replay = new Replay(retaining);
    const first = await replay.publishMinutely("1");
    replay.ack("1");
    replay.test.subscription.settings = { ...replay.test.subscription.settings, retainAcked: false };
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual([]);
  });
});

describe("a topic that keeps messages (COMMON-05)", () => {
  test("lets every subscription seek back, also one that was made later", async () => {
    const replay = new Replay({ ackDeadlineSeconds: 600 });
    replay.test.broker.topic(topic).settings = { labels: {}, retentionMs: minutes(60), storagePolicy: null };
    const first = await replay.publishMinutely("1", "2");
    replay.ack("1", "2");
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["1", "2"]);

    const later = replay.test.subscribe("projects/test/subscriptions/later", topic);
    expect(unackedTexts(later)).toEqual([]);
    replay.test.broker.seekToTime(later.settings.name, first + minutes(1));
    expect(unackedTexts(later)).toEqual(["2"]);
  });

  test("keeps them for longer than the subscription, and no longer than it says", async () => {
    const replay = new Replay({ ackDeadlineSeconds: 600, messageRetentionDuration: { seconds: 600 } });
    replay.test.broker.topic(topic).settings = { labels: {}, retentionMs: minutes(60), storagePolicy: null };
    const first = await replay.publishMinutely("1");
    replay.ack("1");
    await replay.test.clock.advance(minutes(58));
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual(["1"]);
    replay.ack("1");
    await replay.test.clock.advance(minutes(2));
    replay.seek(first);
    expect(replay.consumer.newTexts()).toEqual([]);
  });
});

describe("a snapshot", () => {
  test("has what was not acked and what is published later, whatever is acked since", async () => {
    const replay = new Replay({ ackDeadlineSeconds: 600 });
    await replay.publishMinutely("1", "2", "3");
    replay.ack("2");
    replay.snapshot();
    replay.ack("1", "3");
    await replay.publishMinutely("4");
    replay.ack("4");
    replay.seek(snapshot);
    expect(replay.consumer.newTexts()).toEqual(["1", "3", "4"]);
  });

  test("serves other subscriptions of its topic, and their filters, but none of another topic", async () => {
    const replay = new Replay();
    await replay.publishMinutely("1");
    replay.snapshot();
    const [other, filtered] = [{}, { filter: "attributes:none" }].map((options, i) =>
      replay.test.subscribe(`projects/test/subscriptions/other${i}`, topic, options),
    );
    for (const { settings } of [other!, filtered!]) replay.test.broker.seekToSnapshot(settings.name, snapshot);
    expect([unackedTexts(other!), unackedTexts(filtered!)]).toEqual([["1"], []]);
    const stranger = replay.test.subscribe("projects/test/subscriptions/stranger", "projects/test/topics/dead");
    expect(() => replay.test.broker.seekToSnapshot(stranger.settings.name, snapshot)).toThrow("another topic");
  });

  test("keeps its messages beyond the subscription's retention", async () => {
    const replay = new Replay({ ackDeadlineSeconds: 600, messageRetentionDuration: { seconds: 600 } });
    await replay.publishMinutely("1");
    replay.snapshot();
    await replay.test.clock.advance(days(2));
    replay.seek(snapshot);
    expect(replay.consumer.newTexts()).toEqual(["1"]);
    replay.consumer.ready = false;
    await replay.test.clock.advance(minutes(11));
    expect(unackedTexts(replay.test.subscription)).toEqual([]);
  });

  test("lives for seven days less the age of its oldest message", async () => {
    const replay = new Replay();
    replay.consumer.ready = false;
    await replay.publishMinutely("1");
    await replay.test.clock.advance(days(3) - minutes(1));
    replay.snapshot({ team: "a" });
    const { broker, clock } = replay.test;
    expect(broker.snapshotResource(broker.snapshots.get(snapshot))).toEqual({
      name: snapshot,
      topic,
      labels: { team: "a" },
      expireTime: { seconds: String((replay.now + days(4)) / 1000), nanos: 0 },
    });
    await clock.advance(days(4) - 1);
    expect(broker.topic(topic).snapshots.size).toBe(1);
    await clock.advance(1);
    expect(broker.topic(topic).snapshots.size).toBe(0);
    expect(() => broker.snapshots.get(snapshot)).toThrow("Resource not found");
  });

  test("is refused when it would live for less than an hour", async () => {
    const replay = new Replay();
    replay.consumer.ready = false;
    await replay.publishMinutely("1");
    await replay.test.clock.advance(days(7) - minutes(61));
    replay.snapshot();
    replay.test.broker.snapshots.delete(snapshot);
    await replay.test.clock.advance(1);
    expect(() => replay.snapshot()).toThrow(expect.objectContaining({ code: 9 }));
  });

  test("takes another time to go, within bounds, and other labels", async () => {
    const replay = new Replay();
    replay.snapshot();
    const { broker, clock } = replay.test;
    const update = (expireMs: number, paths: string[]): void =>
      void broker.updateSnapshot(
        { name: snapshot, topic: "", labels: { a: "1" }, expireTime: { seconds: expireMs / 1000 } },
        paths,
      );
    const created = replay.now;
    for (const ms of [created, created + days(7) + 1000]) {
      expect(() => update(ms, ["expire_time"])).toThrow(expect.objectContaining({ code: 3 }));
    }
    expect(() => update(created, [])).toThrow("mask is empty");
    expect(() => update(created, ["topic"])).toThrow("topic of a snapshot cannot be changed");
    update(created + days(1), ["expire_time", "labels"]);
    expect(broker.snapshots.get(snapshot).labels).toEqual({ a: "1" });
    await clock.advance(days(1));
    expect(broker.snapshots.names).toEqual([]);
  });

  test("stays after its topic and its subscription", async () => {
    const replay = new Replay();
    await replay.publishMinutely("1");
    replay.snapshot();
    const { broker } = replay.test;
    broker.deleteTopic(topic);
    expect(broker.snapshotResource(broker.snapshots.get(snapshot)).topic).toBe("_deleted-topic_");
    replay.seek(snapshot);
    expect(replay.consumer.newTexts()).toEqual(["1"]);
    broker.deleteSubscription(replay.name);
    expect(broker.snapshots.names).toEqual([snapshot]);
  });
});

describe("a filter", () => {
  test("keeps from the subscription what does not match (FILTER-01), which is in no backlog", () => {
    const replay = new Replay({ filter: 'attributes.kind = "order"' });
    replay.test.publish("no attributes");
    expect([unackedTexts(replay.test.subscription), replay.test.subscription.backlog]).toEqual([[], 0]);
    replay.test.publishWith({ kind: "order" }, "yes");
    replay.test.publishWith({ kind: "refund" }, "no");
    expect(replay.consumer.newTexts()).toEqual(["yes"]);
  });
});

describe("a detached subscription", () => {
  test("loses its messages and consumers, gets nothing, and gives nothing", async () => {
    const replay = new Replay(retaining);
    const first = await replay.publishMinutely("1");
    const { broker, subscription } = replay.test;
    broker.detachSubscription(replay.name);
    expect(replay.consumer.ended).toMatchObject({ code: 9 });
    replay.test.publish("2");
    expect([unackedTexts(subscription), subscription.outstanding]).toEqual([[], 0]);
    for (const act of [
      () => broker.attachedSubscription(replay.name),
      () => replay.seek(first),
      () => replay.snapshot(),
    ]) {
      expect(act).toThrow(expect.objectContaining({ code: 9 }));
    }
    expect(broker.resourceOf(subscription)).toMatchObject({ detached: true, topic });
    expect(broker.topic(topic).subscriptions.size).toBe(0);
    broker.deleteSubscription(replay.name);
  });
});

test("what is made without a name gets one in the same project", () => {
  const { broker } = new TestBroker();
  const unnamed = new TestBroker().subscribe("", topic);
  expect(unnamed.settings.name).toMatch(/^projects\/test\/subscriptions\/[a-z][a-z0-9-]+$/);
  const subscription = "projects/test/subscriptions/orders";
  expect(broker.createSnapshot({ name: "", subscription, labels: {} }).name).toMatch(
    /^projects\/test\/snapshots\/[a-z]/,
  );
});

test("clearing leaves nothing, and no timer", async () => {
  const replay = new Replay();
  await replay.publishMinutely("1");
  replay.snapshot();
  const { broker, clock } = replay.test;
  broker.clear();
  expect([broker.topics.size, broker.subscriptions.size, broker.snapshots.names, clock.pending]).toEqual([0, 0, [], 0]);
});
