/** Google's own client against the embedded Pub/Sub: seek, snapshots, filters, detaching; and `POST /reset`. */
import type { PubSub } from "@google-cloud/pubsub";
import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { PubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { bodiesLeft, embeddedPubSub } from "../support/embedded-pubsub.ts";
import type { PubSubClient } from "../support/pubsub-client.ts";

let emulator: PubSubEmulator;
let client: PubSubClient;
let google: PubSub;
let topic: string;
let subscription: string;

embeddedPubSub("replay", (embedded) => {
  ({ emulator, client, google, topic, subscription } = embedded);
});

const take = async (): Promise<string[]> => (await client.take(subscription)).map(({ data }) => data.toString());
const left = (): string[] => bodiesLeft(emulator, subscription);

test("seek to a time, with retain_acked_messages", async () => {
  const [created] = await google.topic(topic).createSubscription(subscription, { retainAckedMessages: true });
  const before = new Date();
  emulator.publish(topic, [{ data: "a" }, { data: "b" }]);
  expect(await take()).toEqual(["a", "b"]);
  expect(left()).toEqual([]);
  await created.seek(before);
  expect(left()).toEqual(["a", "b"]);
  await created.seek(new Date(Date.now() + 60_000));
  expect(left()).toEqual([]);
});

test("a snapshot: create, get, list, seek, delete", async () => {
  const [created] = await google.topic(topic).createSubscription(subscription);
  emulator.publish(topic, [{ data: "a" }]);
  const name = "projects/test/snapshots/replay-1";
  await created.createSnapshot(name);
  expect(await take()).toEqual(["a"]);
  const [snapshots] = await google.getSnapshots();
  expect(snapshots.map((each) => each.name)).toContain(name);
  expect(await client.publisherCall("ListTopicSnapshots", { topic })).toMatchObject({ snapshots: [name] });
  await created.snapshot(name).seek();
  expect(left()).toEqual(["a"]);
  const updated = {
    snapshot: { name, labels: { team: "a" } },
    updateMask: { paths: ["labels"] },
  };
  expect(await client.subscriberCall("UpdateSnapshot", updated)).toMatchObject({ labels: { team: "a" }, topic });
  await created.snapshot(name).delete();
  await expect(client.subscriberCall("GetSnapshot", { snapshot: name })).rejects.toMatchObject({
    code: status.NOT_FOUND,
  });
});

test("a filter: only what matches comes, and it cannot be changed", async () => {
  const filter = 'attributes.kind = "order" AND NOT attributes:test';
  const [created] = await google.topic(topic).createSubscription(subscription, { filter });
  const messages = [{ kind: "order" }, { kind: "order", test: "1" }, { kind: "refund" }].map((attributes) => ({
    data: Buffer.from(JSON.stringify(attributes)),
    attributes,
  }));
  await client.publish(topic, messages);
  expect(await take()).toEqual(['{"kind":"order"}']);
  expect((await created.getMetadata())[0]).toMatchObject({ filter });
  await expect(created.setMetadata({ filter: "" })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
  await expect(
    google.topic(topic).createSubscription(`${subscription}-x`, { filter: "attributes:a OR" }),
  ).rejects.toMatchObject({ code: status.INVALID_ARGUMENT, details: expect.stringContaining("character 16") });
});

test("detaching: the subscription is there, and gives nothing any more", async () => {
  const [created] = await google.topic(topic).createSubscription(subscription);
  emulator.publish(topic, [{ data: "a" }]);
  const stream = client.stream({ subscription, streamAckDeadlineSeconds: 60 });
  const ended = new Promise((resolve) => {
    stream.on("error", (error: { readonly code: status }) => resolve(error.code));
    stream.on("data", () => void google.detachSubscription(subscription));
  });
  expect(await ended).toBe(status.FAILED_PRECONDITION);
  expect(await created.detached()).toEqual([true]);
  expect(left()).toEqual([]);
  await expect(client.pull(subscription)).rejects.toMatchObject({ code: status.FAILED_PRECONDITION });
  expect(await client.publisherCall("ListTopicSubscriptions", { topic })).toMatchObject({ subscriptions: [] });
});

test("an update changes what its mask names: of a topic and of a subscription", async () => {
  const [created] = await google.topic(topic).createSubscription(subscription);
  await google.topic(topic).setMetadata({ messageRetentionDuration: { seconds: 3600 }, labels: { team: "a" } });
  const [metadata] = await google.topic(topic).getMetadata();
  expect(metadata).toMatchObject({ messageRetentionDuration: { seconds: "3600" }, labels: { team: "a" } });
  await created.setMetadata({ enableExactlyOnceDelivery: true, retainAckedMessages: true });
  expect((await created.getMetadata())[0]).toMatchObject({
    enableExactlyOnceDelivery: true,
    retainAckedMessages: true,
    ackDeadlineSeconds: 10,
    topicMessageRetentionDuration: { seconds: "3600" },
  });
  await expect(google.topic(topic).setMetadata({ kmsKeyName: "k" })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
  });
});

test("POST /reset on the same port forgets everything and ends streams; the port goes on", async () => {
  emulator.createSubscription({ name: subscription, topic });
  emulator.publish(topic, [{ data: "a" }]);
  const stream = client.stream({ subscription, streamAckDeadlineSeconds: 60 });
  const ended = new Promise((resolve) => {
    stream.on("error", (error: { readonly code: status }) => resolve(error.code));
  });
  await new Promise((resolve) => {
    stream.once("data", resolve);
  });
  const url = `http://${emulator.host}:${emulator.port}`;
  expect((await fetch(`${url}/reset`, { method: "POST" })).status).toBe(200);
  expect(await ended).toBe(status.NOT_FOUND);
  await expect(client.publisherCall("GetTopic", { topic })).rejects.toMatchObject({ code: status.NOT_FOUND });
  await client.createTopic(topic);
  expect((await fetch(`${url}/`)).status).toBe(200);
  expect((await fetch(`${url}/v1/projects/test/topics`)).status).toBe(404);
});
