/** The source and the dead-letter topic against real Pub/Sub servers. */
import { randomUUID } from "node:crypto";
import pino from "pino";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DeadLetterTopic } from "../../src/dead-letter/dead-letter-topic.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Endpoint } from "../../src/lib/endpoint.ts";
import { Fates, type MessageBatch } from "../../src/message.ts";
import type { PullObserver } from "../../src/source/pull-observer.ts";
import { StreamingPull } from "../../src/source/streaming-pull.ts";
import { eventually } from "../support/eventually.ts";
import { PubSubClient } from "../support/pubsub-client.ts";
import { describePubSubServers, type PubSubServer } from "../support/pubsub-servers.ts";

const log = pino({ level: "silent" });

function endpointOf(server: PubSubServer): Endpoint {
  const [host = "", port] = server.address().split(":");
  return { host, port: Number(port), plaintext: true };
}

/** Counts what the tests ask for and nothing else. */
function observe(counts: { extended: number; acked: number; nacked: number }): PullObserver {
  const ignore = (): void => {};
  return {
    received: ignore,
    responseDropped: ignore,
    acked: (messages) => (counts.acked += messages),
    nacked: (messages) => (counts.nacked += messages),
    extended: (messages) => (counts.extended += messages),
    requestFailed: ignore,
    leaseEnded: ignore,
    streamOpened: ignore,
    streamClosed: ignore,
    outstanding: ignore,
    timeToAck: ignore,
  };
}

describePubSubServers("pulling", (server) => {
  let client: PubSubClient;
  const sources: StreamingPull[] = [];
  const counts = { extended: 0, acked: 0, nacked: 0 };

  beforeAll(() => {
    client = new PubSubClient(server.address());
  });
  afterEach(async () => {
    await Promise.all(sources.splice(0).map((source) => source.close()));
    Object.assign(counts, { extended: 0, acked: 0, nacked: 0 });
  });
  afterAll(() => client.close());

  async function subscription(): Promise<{ topic: string; name: string }> {
    const id = `t${randomUUID()}`;
    const topic = `projects/acme/topics/${id}`;
    const name = `projects/acme/subscriptions/${id}`;
    await client.createTopic(topic);
    await client.createSubscription(name, topic);
    return { topic, name };
  }

  function open(name: string, streams = 1): { source: StreamingPull; abort: AbortController } {
    const source = new StreamingPull({
      subscription: name,
      pull: { streams, maxOutstandingMessages: 20_000, maxOutstandingBytes: 100_000_000 },
      leases: {
        minDurationPerAckExtensionMs: 10_000,
        maxDurationPerAckExtensionMs: 600_000,
        maxAckExtensionPeriodMs: Infinity,
        releaseAfterMs: Infinity,
      },
      endpoint: endpointOf(server),
      credentials: undefined,
      clock: systemClock,
      log,
      observer: observe(counts),
    });
    sources.push(source);
    return { source, abort: new AbortController() };
  }

  const texts = (count: number): { data: Buffer }[] =>
    Array.from({ length: count }, (_, i) => ({ data: Buffer.from(`message ${i}`) }));

  const idsOf = (batch: MessageBatch): string[] => Array.from({ length: batch.length }, (_, i) => batch.messageId(i));

  test("every message comes once, and none is left when all are acked", async () => {
    const { topic, name } = await subscription();
    const published = await client.publish(topic, texts(3000));
    const { source, abort } = open(name, 3);
    await source.open(abort.signal);
    expect(source.state).toBe("ACTIVE");
    const received: string[] = [];
    for await (const batch of source.batches(abort.signal)) {
      received.push(...idsOf(batch));
      await source.settle(batch, new Fates(batch.length));
      if (received.length >= published.length) abort.abort();
    }
    await source.close();
    expect(received.toSorted()).toEqual(published.toSorted());
    expect(counts.acked).toBe(3000);
    expect(await client.take(name)).toEqual([]);
  });

  test("a missing subscription is waited for", async () => {
    const id = `t${randomUUID()}`;
    const name = `projects/acme/subscriptions/${id}`;
    const { source, abort } = open(name);
    const opened = source.open(abort.signal);
    await eventually("the state tells it", () => source.state === "NOT_FOUND" || undefined);
    expect(source.stateReason).toContain(name);
    await client.createTopic(`projects/acme/topics/${id}`);
    await client.createSubscription(name, `projects/acme/topics/${id}`);
    await opened;
    expect(source.state).toBe("ACTIVE");
    await client.publish(`projects/acme/topics/${id}`, texts(1));
    for await (const batch of source.batches(abort.signal)) {
      expect(batch.bytes.toString("utf8", batch.dataStart(0), batch.dataEnd(0))).toBe("message 0");
      await source.settle(batch, new Fates(batch.length));
      abort.abort();
    }
  });

  test("a message that is held beyond its deadline is not delivered again, and its late ack counts", async () => {
    const { topic, name } = await subscription();
    await client.publish(topic, texts(1));
    const { source, abort } = open(name);
    await source.open(abort.signal);
    const batches = source.batches(abort.signal)[Symbol.asyncIterator]();
    const first = await batches.next();
    const second = batches.next();
    await new Promise((resolve) => {
      setTimeout(resolve, 13_000);
    });
    // At 1 s, because the message may have been on its way for long; then, by 10 s each, 5 s before the end: at 6 s and 11 s.
    expect(counts.extended).toBe(3);
    await source.settle(first.value as MessageBatch, new Fates(1));
    abort.abort();
    expect((await second).done).toBe(true);
    await source.close();
    expect(await client.take(name)).toEqual([]);
  });

  test("what is given back comes again, and what closing gives back as well", async () => {
    const { topic, name } = await subscription();
    const [id] = await client.publish(topic, texts(1));
    const { source, abort } = open(name);
    await source.open(abort.signal);
    let deliveries = 0;
    for await (const batch of source.batches(abort.signal)) {
      expect(idsOf(batch)).toEqual([id]);
      const fates = new Fates(1);
      fates.nack(0);
      if (++deliveries === 1) await source.settle(batch, fates);
      else abort.abort();
    }
    await source.close();
    const again = await eventually("it is free again", async () => {
      const [message] = await client.take(name);
      return message;
    });
    expect(again.messageId).toBe(id);
  });

  test("a letter has what its message had, and why it was refused", async () => {
    const { topic, name } = await subscription();
    const dead = await subscription();
    const data = Buffer.from([0, 255, 10]);
    const [id] = await client.publish(topic, [{ data, attributes: { mine: "ä" }, orderingKey: "k" }]);
    const { source, abort } = open(name);
    const letters = new DeadLetterTopic({
      topic: dead.topic,
      maxDeliveryAttempts: 5,
      maxLetterBytes: 12 * 1024 * 1024,
      sourceTopic: async () => ({ topic: "projects/acme/topics/orders" }),
      subscription: name,
      pipeline: "orders",
      endpoint: endpointOf(server),
      credentials: undefined,
      clock: systemClock,
      log,
    });
    await source.open(abort.signal);
    for await (const batch of source.batches(abort.signal)) {
      const refusal = { code: "MALFORMED_PAYLOAD", path: "", message: "No JSON.", stage: "transcode" } as const;
      expect(await letters.publish([{ batch, message: 0, refusal }])).toEqual([{ ok: true }]);
      await source.settle(batch, new Fates(1));
      abort.abort();
    }
    await letters.close();
    const [letter] = await client.take(dead.name);
    expect(letter).toMatchObject({ data, orderingKey: "k" });
    expect(letter!.attributes).toMatchObject({
      mine: "ä",
      millrace_message_id: id,
      millrace_error_code: "MALFORMED_PAYLOAD",
      CloudPubSubDeadLetterSourceSubscription: name.split("/")[3],
      CloudPubSubDeadLetterSourceDeliveryErrorMessage: "MALFORMED_PAYLOAD: No JSON.",
    });
  });
});
