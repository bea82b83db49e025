/** Exactly-once delivery of the embedded Pub/Sub, over real gRPC and with Google's own client. */
import { AckResponses, type Message, type PubSub } from "@google-cloud/pubsub";
import { type Metadata, status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import type { PubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { bodiesLeft, embeddedPubSub } from "../support/embedded-pubsub.ts";
import { eventually } from "../support/eventually.ts";
import { type Delivery, type PubSubClient, type PullStream } from "../support/pubsub-client.ts";

let emulator: PubSubEmulator;
let client: PubSubClient;
let google: PubSub;
let topic: string;
let subscription: string;

embeddedPubSub("once", (embedded) => {
  ({ emulator, client, google, topic, subscription } = embedded);
});

const subscribe = (options: object = {}): void =>
  emulator.createSubscription({ name: subscription, topic, enableExactlyOnceDelivery: true, ...options });
const publish = (...texts: string[]): void =>
  void emulator.publish(
    topic,
    texts.map((data) => ({ data, orderingKey: "k" })),
  );
const left = (): string[] => bodiesLeft(emulator, subscription);

/** What a failed call says of ack IDs, read with the client's own way of reading it. */
async function failures(call: Promise<void>): Promise<readonly [status, string]> {
  const error = await call.then(
    () => undefined,
    (error: { readonly code: status; readonly metadata: Metadata }) => error,
  );
  if (!error) throw new Error("The call succeeded");
  const [details] = error.metadata.get("grpc-status-details-bin") as [Buffer];
  return [error.code, details.toString("latin1")];
}

describe("unary calls", () => {
  test("name the IDs that failed and why; the others of the request succeed", async () => {
    subscribe({ ackDeadlineSeconds: 10 });
    publish("a", "b");
    const [a, b] = (await client.pull(subscription)).map(({ ackId }) => ackId);
    await client.acknowledge(subscription, [a!]);
    const [code, details] = await failures(client.acknowledge(subscription, [a!, b!, "no ack ID"]));
    expect(code).toBe(status.INVALID_ARGUMENT);
    for (const id of [a!, "no ack ID"]) expect(details).toContain(`${id}\u0012\u0020PERMANENT_FAILURE_INVALID_ACK_ID`);
    expect(details).not.toContain(b);
    expect(left()).toEqual([]);
    await expect(client.modifyAckDeadline(subscription, [b!], 20)).rejects.toMatchObject({ code });
  });

  test("do as a script says of single IDs", async () => {
    subscribe();
    publish("a", "b", "c", "d");
    const ids = (await client.pull(subscription)).map(({ ackId }) => ackId);
    const code = "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE";
    emulator.faults.replace([{ method: "Acknowledge", call: 1, ackErrors: { code, every: 2 } }]);
    const [, details] = await failures(client.acknowledge(subscription, ids));
    expect(ids.map((id) => details.includes(`${id}\u0012\u0025${code}`))).toEqual([false, true, false, true]);
    expect(left()).toEqual(["b", "d"]);
    await client.acknowledge(subscription, [ids[1]!, ids[3]!]);
    expect(left()).toEqual([]);
  });
});

describe("a stream", () => {
  interface Response {
    readonly receivedMessages: readonly Delivery[];
    readonly acknowledgeConfirmation: object | null;
    readonly modifyAckDeadlineConfirmation: object | null;
    readonly subscriptionProperties: object;
  }

  function open(): { stream: PullStream; responses: Response[]; has: (count: number) => Promise<boolean> } {
    const stream = client.stream({ subscription, streamAckDeadlineSeconds: 60 });
    const responses: Response[] = [];
    stream.on("data", (response: Response) => responses.push(response));
    stream.on("error", () => undefined);
    return {
      stream,
      responses,
      has: (count) => eventually(`${count} responses`, () => (responses.length >= count ? true : undefined)),
    };
  }

  test("says that it delivers exactly once, and confirms the acks and deadlines that came over it", async () => {
    subscribe({ enableMessageOrdering: true });
    publish("1", "2", "3");
    const { stream, responses, has } = open();
    await has(1);
    const [one, two, three] = responses[0]!.receivedMessages.map(({ ackId }) => ackId);
    expect(responses[0]!.subscriptionProperties).toEqual({
      exactlyOnceDeliveryEnabled: true,
      messageOrderingEnabled: true,
    });
    stream.write({
      ackIds: [one, three, "strange"],
      modifyDeadlineAckIds: [two, one],
      modifyDeadlineSeconds: [30, 30],
    });
    await has(2);
    expect(responses[1]).toMatchObject({
      receivedMessages: [],
      acknowledgeConfirmation: {
        ackIds: [one],
        invalidAckIds: ["strange"],
        unorderedAckIds: [three],
        temporaryFailedAckIds: [],
      },
      modifyAckDeadlineConfirmation: { ackIds: [two], invalidAckIds: [one], temporaryFailedAckIds: [] },
    });
    stream.write({ ackIds: [two, three] });
    await has(3);
    expect(responses[2]).toMatchObject({
      acknowledgeConfirmation: { ackIds: [two, three] },
      modifyAckDeadlineConfirmation: null,
    });
    expect(left()).toEqual([]);
    stream.cancel();
  });

  test("confirms nothing without exactly-once delivery", async () => {
    subscribe({ enableExactlyOnceDelivery: false });
    publish("1");
    const { stream, responses, has } = open();
    await has(1);
    stream.write({ ackIds: [responses[0]!.receivedMessages[0]!.ackId] });
    publish("2");
    await has(2);
    expect(responses[1]).toMatchObject({ acknowledgeConfirmation: null, modifyAckDeadlineConfirmation: null });
    stream.cancel();
  });

  test("lets its confirmation wait when a script says so: the acks are taken at once", async () => {
    subscribe();
    emulator.faults.replace([{ method: "StreamingPull", call: 2, hang: "after" }]);
    publish("1");
    const { stream, responses, has } = open();
    await has(1);
    stream.write({ ackIds: [responses[0]!.receivedMessages[0]!.ackId] });
    await eventually("the ack", () => (left().length === 0 ? true : undefined));
    expect(responses).toHaveLength(1);
    stream.cancel();
  });
});

describe("Google's client", () => {
  test("gets its acks confirmed, and each message once", async () => {
    subscribe();
    const seen: string[] = [];
    const answers: string[] = [];
    const from = google.subscription(subscription);
    from.on("message", (message: Message) => {
      seen.push(message.data.toString());
      void message.ackWithResponse().then((answer) => answers.push(answer));
    });
    const texts = Array.from({ length: 200 }, (_, i) => String(i));
    publish(...texts);
    await eventually("200 confirmations", () => (answers.length >= 200 ? true : undefined), 20_000);
    await from.close();
    expect(new Set(answers)).toEqual(new Set([AckResponses.Success]));
    expect(seen.toSorted()).toEqual(texts.toSorted());
    expect(left()).toEqual([]);
  });

  test("tries a transient failure again, and gives a permanent one up", async () => {
    subscribe();
    emulator.faults.replace([
      { method: "Acknowledge", call: 1, ackErrors: { code: "TRANSIENT_FAILURE_SERVICE_UNAVAILABLE" } },
      { method: "Acknowledge", call: 3, ackErrors: { code: "PERMANENT_FAILURE_INVALID_ACK_ID" } },
    ]);
    const from = google.subscription(subscription);
    const answers: string[] = [];
    from.on("message", (message: Message) => {
      const note = (answer: string): unknown => answers.push(answer);
      void message.ackWithResponse().then(note, (error: { readonly errorCode: string }) => note(error.errorCode));
    });
    publish("a");
    await eventually("the first answer", () => (answers.length === 1 ? true : undefined), 10_000);
    publish("b");
    await eventually("the second answer", () => (answers.length === 2 ? true : undefined), 10_000);
    await from.close();
    expect(answers).toEqual([AckResponses.Success, AckResponses.Invalid]);
    expect(left()).toEqual(["b"]);
  });
});
