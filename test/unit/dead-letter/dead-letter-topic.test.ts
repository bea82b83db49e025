import { status } from "@grpc/grpc-js";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { DeadLetter } from "../../../src/dead-letter/dead-letter.ts";
import { DeadLetterTopic, type DeadLetterTopicOptions } from "../../../src/dead-letter/dead-letter-topic.ts";
import type { SourceTopic } from "../../../src/dead-letter/opening-obstacle.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { FakePublisher } from "../../support/fake-publisher.ts";
import { encodeResponse, type FakeMessage } from "../../support/fake-subscriber.ts";

const topicName = "projects/acme/topics/dead";
let server = new FakePublisher();
const topics: DeadLetterTopic[] = [];

beforeEach(async () => {
  server = new FakePublisher();
  await server.start();
});

afterEach(async () => {
  await Promise.all(topics.splice(0).map((topic) => topic.close()));
  await server.close();
});

function open(changes: Partial<DeadLetterTopicOptions> = {}): DeadLetterTopic {
  const topic = new DeadLetterTopic({
    topic: topicName,
    maxDeliveryAttempts: 5,
    maxLetterBytes: 12 * 1024 * 1024,
    sourceTopic: async () => ({ topic: "projects/acme/topics/orders" }),
    subscription: "projects/acme/subscriptions/orders",
    pipeline: "orders",
    endpoint: { host: "127.0.0.1", port: server.port, plaintext: true },
    credentials: undefined,
    clock: systemClock,
    log: pino({ level: "silent" }),
    random: () => 0.01,
    ...changes,
  });
  topics.push(topic);
  return topic;
}

/** A letter per text; `key:text` has an ordering key. */
function letters(...texts: string[]): DeadLetter[] {
  return lettersOf(
    texts.map((text) => {
      const [data, orderingKey = ""] = text.split(":").toReversed();
      return { ackId: "a", data: data!, orderingKey };
    }),
  );
}

function lettersOf(messages: readonly FakeMessage[]): DeadLetter[] {
  const batch = PulledBatch.parse(encodeResponse(messages));
  const refusal = { code: "TYPE_MISMATCH", path: "a", message: "No.", stage: "transcode" } as const;
  return messages.map((_, message) => ({ batch, message, refusal }));
}

const texts = (): string[] => server.messages.map(({ data }) => data.toString());

test("letters are published in one request, and each has its result", async () => {
  expect(await open().publish(letters("one", "two"))).toEqual([{ ok: true }, { ok: true }]);
  expect(server.taken).toHaveLength(1);
  expect(server.taken[0]!.topic).toBe(topicName);
  expect(texts()).toEqual(["one", "two"]);
  expect(server.messages[0]!.attributes).toMatchObject({ millrace_error_code: "TYPE_MISMATCH" });
});

test("more than a thousand letters take several requests", async () => {
  const results = await open().publish(letters(...Array.from({ length: 2001 }, (_, i) => String(i))));
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(server.taken.map(({ messages }) => messages.length)).toEqual([1000, 1000, 1]);
});

describe("opening", () => {
  test("holds while the dead-letter topic is that of the subscription, and goes on when it is not any more", async () => {
    const clock = new VirtualClock();
    let source = topicName;
    const topic = open({ clock, sourceTopic: async () => ({ topic: source }) });
    let opened = false;
    void topic.open(new AbortController().signal).then(() => (opened = true));
    await clock.advance(3_600_000);
    expect(opened).toBe(false);
    expect(topic.state).toBe("MISCONFIGURED");
    expect(topic.stateReason).toContain(`${topicName} is the topic of projects/acme/subscriptions/orders itself`);
    source = "projects/acme/topics/orders";
    await clock.advance(10_000);
    expect(opened).toBe(true);
    expect(topic).toMatchObject({ state: "ACTIVE", stateReason: "" });
  });

  test.each([
    [
      "UNAVAILABLE",
      "UNAVAILABLE",
      "does not tell the topic of projects/acme/subscriptions/orders at present (UNAVAILABLE: Refused.)",
    ],
    ["NOT_FOUND", "NOT_FOUND", "Subscription projects/acme/subscriptions/orders does not exist"],
  ] as const)("%s: waits until the subscription's topic can be seen, and looks at it", async (code, state, words) => {
    const clock = new VirtualClock();
    let source: SourceTopic = { code: status[code], details: "Refused." };
    const topic = open({ clock, sourceTopic: async () => source });
    let opened = false;
    void topic.open(new AbortController().signal).then(() => (opened = true));
    await clock.advance(600_000);
    expect([opened, topic.state]).toEqual([false, state]);
    expect(topic.stateReason).toContain(words);
    source = { topic: topicName };
    await clock.advance(10_000);
    expect([opened, topic.state]).toEqual([false, "MISCONFIGURED"]);
    source = { topic: "projects/acme/topics/orders" };
    await clock.advance(10_000);
    expect([opened, topic.state]).toEqual([true, "ACTIVE"]);
  });

  test("goes on where nobody may see the subscription's topic", async () => {
    const topic = open({ sourceTopic: async () => ({ code: status.PERMISSION_DENIED, details: "" }) });
    await topic.open(new AbortController().signal);
    expect(topic.state).toBe("ACTIVE");
  });

  test("ends when it is given up", async () => {
    const clock = new VirtualClock();
    const giveUp = new AbortController();
    const opened = open({ clock, sourceTopic: async () => ({ topic: topicName }) }).open(giveUp.signal);
    await clock.advance(15_000);
    giveUp.abort();
    await opened;
    expect(clock.pending).toBe(0);
  });
});

describe("order", () => {
  test("a request holds letters of one key, in order", async () => {
    await open().publish(letters("a:1", "b:1", "2", "a:2", "b:2"));
    const requests = server.taken.map(({ messages }) =>
      messages.map((m) => `${m.orderingKey}:${m.data.toString()}`).join(" "),
    );
    expect(requests.toSorted()).toEqual([":2", "a:1 a:2", "b:1 b:2"]);
  });

  test("a key's letters wait for those before them, also while these are tried again", async () => {
    server.failures.push({ code: status.UNAVAILABLE, details: "" }, { code: status.UNAVAILABLE, details: "" });
    const topic = open();
    await Promise.all([topic.publish(letters("k:1")), topic.publish(letters("k:2")), topic.publish(letters("k:3"))]);
    expect(texts()).toEqual(["1", "2", "3"]);
    expect(server.calls).toBe(5);
  });

  test("other keys do not wait", async () => {
    const gate = Promise.withResolvers<void>();
    server.before = ({ messages }) => (messages[0]!.orderingKey === "slow" ? gate.promise : Promise.resolve());
    const topic = open();
    const slow = topic.publish(letters("slow:1"));
    await topic.publish(letters("fast:1", "free"));
    expect(texts().toSorted()).toEqual(["1", "free"]);
    gate.resolve();
    await slow;
    expect(texts()).toHaveLength(3);
  });
});

test("one bad letter does not keep the others, and its reason tells nothing of it", async () => {
  server.refuses = ({ data }) => data.toString() === "bad";
  const results = await open().publish(letters("one", "bad", "two"));
  expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
  expect(results[1]).toEqual({
    ok: false,
    why: "refused",
    reason: expect.stringMatching(/refuses the letter \(INVALID_ARGUMENT\)/),
  });
  expect(results[1]).not.toMatchObject({ reason: expect.stringContaining("one of them") });
  expect(texts()).toEqual(["one", "two"]);
});

test("a bad letter among a thousand is found by halves: its neighbours take few requests", async () => {
  server.refuses = ({ data }) => data.toString() === "400";
  const results = await open().publish(letters(...Array.from({ length: 1000 }, (_, i) => String(i))));
  expect(results.flatMap(({ ok }, i) => (ok ? [] : [i]))).toEqual([400]);
  expect(texts().toSorted()).toEqual(
    Array.from({ length: 1000 }, (_, i) => String(i))
      .filter((text) => text !== "400")
      .toSorted(),
  );
  // A thousand are halved ten times, and both halves are sent each time; the bad one has two more forms.
  expect(server.calls).toBeLessThanOrEqual(1 + 2 * 10 + 2);
});

describe("a letter that the topic refuses as it is", () => {
  const bad = { ackId: "a", data: "bad", attributes: { tenant: "t9" } };

  test("is published in the next form that the topic takes, its data as it came", async () => {
    server.refuses = ({ attributes }) => "tenant" in attributes;
    expect(await open().publish(lettersOf([{ ackId: "a", data: "one" }, bad]))).toEqual([{ ok: true }, { ok: true }]);
    expect(texts()).toEqual(["one", "bad"]);
    expect(server.messages[1]!.attributes).toMatchObject({
      millrace_attributes_1: '{"tenant":"t9"}',
      millrace_error_code: "TYPE_MISMATCH",
      millrace_error_path: "a",
    });
    expect(server.messages[1]!.attributes).not.toHaveProperty("CloudPubSubDeadLetterSourceDeliveryErrorMessage");
  });

  test("in every form is not published, after five tries and no more", async () => {
    server.refuses = () => true;
    expect(await open().publish(lettersOf([bad]))).toMatchObject([{ ok: false, why: "refused" }]);
    expect(server.calls).toBe(5);
  });

  test("keeps back the letters of its key behind it, and no others", async () => {
    server.refuses = ({ data }) => data.toString() === "bad";
    const results = await open().publish(letters("k:1", "k:bad", "other:2", "k:3", "4"));
    expect(results.map((result) => (result.ok ? "ok" : result.why))).toEqual(["ok", "refused", "ok", "behind", "ok"]);
    expect(texts().toSorted()).toEqual(["1", "2", "4"]);
  });
});

test("an exception over one letter costs no other", async () => {
  const three = letters("one", "bad", "two");
  vi.spyOn(three[1]!.batch, "messageId").mockImplementation((i) => {
    if (i === 1) throw new RangeError("secret");
    return String(i);
  });
  const results = await open().publish(three);
  expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
  expect(results[1]).toMatchObject({ why: "refused", reason: expect.stringContaining("(RangeError)") });
  expect(JSON.stringify(results)).not.toContain("secret");
  expect(texts()).toEqual(["one", "two"]);
});

test("dq-04: a message with 99 attributes keeps all of them, moved, within the limits", async () => {
  const attributes = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`a${String(i).padStart(2, "0")}`, "v"]));
  server.refuses = ({ attributes: all }) =>
    Object.keys(all).length > 100 || Object.values(all).some((value) => Buffer.byteLength(value) > 1024);
  expect(await open().publish(lettersOf([{ ackId: "a", data: "bad", attributes }]))).toEqual([{ ok: true }]);
  expect(server.calls).toBe(1);
  const { millrace_attributes_1: moved, ...told } = server.messages[0]!.attributes;
  expect(JSON.parse(moved!)).toEqual(attributes);
  expect(told).toMatchObject({ millrace_error_code: "TYPE_MISMATCH", millrace_error_path: "a" });
  expect(Object.keys(told)).toHaveLength(11);
});

test("a message that came back as a letter too often is not published again, and keeps no other", async () => {
  const warn = vi.fn<(fields: object, message: string) => void>();
  const log = Object.assign(pino({ level: "silent" }), { warn });
  const circling = { millrace_error_code: "TYPE_MISMATCH", CloudPubSubDeadLetterSourceDeliveryCount: "5" };
  const results = await open({ log }).publish(
    lettersOf([
      { ackId: "a", data: "again", attributes: circling },
      { ackId: "a", data: "one" },
    ]),
  );
  expect(results).toMatchObject([{ ok: false, why: "circling" }, { ok: true }]);
  expect(texts()).toEqual(["one"]);
  expect(warn).toHaveBeenCalledWith(
    { why: "circling", reason: expect.stringContaining("deadLetter.maxDeliveryAttempts"), heldBack: 0 },
    "a dead letter is not published",
  );
});

test("letters that wait for their turn are not put on paper yet: they would be held twice", async () => {
  const gate = Promise.withResolvers<void>();
  server.before = () => gate.promise;
  const topic = open();
  const batches = Array.from({ length: 20 }, (_, i) => letters(String(i)));
  const read = batches.map(([letter]) => vi.spyOn(letter!.batch, "attributes"));
  const published = Promise.all(batches.map((batch) => topic.publish(batch)));
  await vi.waitFor(() => expect(server.calls).toBe(16));
  expect(read.filter((spy) => spy.mock.calls.length > 0)).toHaveLength(16);
  gate.resolve();
  await published;
  expect(texts().toSorted()).toEqual(Array.from({ length: 20 }, (_, i) => String(i)).toSorted());
});

test.each([
  ["NOT_FOUND", "NOT_FOUND", /does not exist\. Create it/],
  ["PERMISSION_DENIED", "PERMISSION_DENIED", /roles\/pubsub\.publisher/],
  ["UNAUTHENTICATED", "PERMISSION_DENIED", /Application Default Credentials/],
] as const)("%s is shown and waited for", async (code, state, reason) => {
  server.failures.push({ code: status[code], details: "" }, { code: status[code], details: "" });
  const topic = open({ random: () => 0.05 });
  const published = topic.publish(letters("one"));
  await vi.waitFor(() => expect(topic.state).toBe(state));
  expect(topic.stateReason).toMatch(reason);
  expect(topic.stateReason).toContain(topicName);
  expect(await published).toEqual([{ ok: true }]);
  expect(topic).toMatchObject({ state: "ACTIVE", stateReason: "" });
});

test("an outage is told after three tries and outlived", async () => {
  for (let k = 0; k < 4; k++) server.failures.push({ code: status.UNAVAILABLE, details: "" });
  const topic = open({ random: () => 0.2 });
  const published = topic.publish(letters("one"));
  await vi.waitFor(() => expect(topic.state).toBe("UNAVAILABLE"));
  expect(server.calls).toBeGreaterThanOrEqual(3);
  expect(await published).toEqual([{ ok: true }]);
});

test("closing ends the waiting: the letters are not published", async () => {
  for (let k = 0; k < 100; k++) server.failures.push({ code: status.NOT_FOUND, details: "" });
  const topic = open({ random: () => 0.5 });
  const published = topic.publish(letters("one", "k:two"));
  await vi.waitFor(() => expect(topic.state).toBe("NOT_FOUND"));
  await topic.close();
  const notPublished = { ok: false, why: "stopping", reason: expect.stringContaining("stopping") };
  expect(await published).toEqual([notPublished, notPublished]);
});

describe("when the end is near", () => {
  test("a missing topic is waited for no longer, and what comes then is tried once", async () => {
    for (let k = 0; k < 100; k++) server.failures.push({ code: status.NOT_FOUND, details: "" });
    const clock = new VirtualClock();
    const topic = open({ clock });
    const waiting = topic.publish(letters("one"));
    await vi.waitFor(() => expect(topic.state).toBe("NOT_FOUND"));
    topic.drain();
    expect(await waiting).toMatchObject([{ ok: false, why: "stopping" }]);
    const calls = server.calls;
    expect(await topic.publish(letters("two"))).toMatchObject([{ ok: false, why: "stopping" }]);
    expect(server.calls).toBe(calls + 1);
    expect(clock.pending).toBe(0);
  });

  test("what stands behind letters of its key that are given up is not published before them", async () => {
    server.failures.push({ code: status.NOT_FOUND, details: "" });
    const topic = open();
    topic.drain();
    const results = await topic.publish(letters(...Array.from({ length: 1001 }, (_, i) => `key:${i}`)));
    expect(new Set(results.map((result) => !result.ok && result.why))).toEqual(new Set(["stopping"]));
    expect(server.messages).toEqual([]);
  });

  test("an outage is still outlived", async () => {
    for (let k = 0; k < 3; k++) server.failures.push({ code: status.UNAVAILABLE, details: "" });
    const topic = open();
    topic.drain();
    expect(await topic.publish(letters("one"))).toEqual([{ ok: true }]);
  });
});
