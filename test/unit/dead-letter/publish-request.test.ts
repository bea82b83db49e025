import { describe, expect, test } from "vitest";
import { type EncodedMessage, encodeLetter, PublishRequest } from "../../../src/dead-letter/publish-request.ts";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { encodeResponse, type FakeMessage } from "../../support/fake-subscriber.ts";

const origin = { subscription: "projects/acme/subscriptions/orders", pipeline: "orders", maxDeliveryAttempts: 5 };
const refusal = { code: "MALFORMED_PAYLOAD", path: "", message: "Not JSON.", stage: "transcode" } as const;

type Message = Omit<FakeMessage, "ackId">;

function encoded(message: Message, form: number): EncodedMessage | "spent" | "circling" {
  const batch = PulledBatch.parse(encodeResponse([{ ackId: "other" }, { ackId: "a", ...message }]));
  return encodeLetter({ batch, message: 1, refusal }, origin, form);
}

function pieces(message: Message, form = 0): EncodedMessage {
  const result = encoded(message, form);
  if (typeof result === "string") throw new Error(result);
  return result;
}

function letter(message: Message, form = 0): Buffer {
  return Buffer.concat(pieces(message, form));
}

const decode = (type: string, bytes: Buffer): { [name: string]: unknown } =>
  pubsubProtos().lookupType(`google.pubsub.v1.${type}`).decode(bytes).toJSON();

describe("a letter", () => {
  test("keeps data, attributes and ordering key byte for byte", () => {
    const data = Buffer.from([0, 255, 0xc3, 0x28, 10]);
    const message = decode(
      "PubsubMessage",
      letter({ data, attributes: { größe: "😀", leer: "" }, orderingKey: "Schlüssel" }),
    );
    expect(message).toMatchObject({
      data: data.toString("base64"),
      orderingKey: "Schlüssel",
      attributes: { größe: "😀", leer: "", millrace_error_code: "MALFORMED_PAYLOAD", millrace_error_path: "" },
    });
    expect(Object.keys(message["attributes"] as object)).toHaveLength(2 + 11);
  });

  test("of 10,000,000 bytes keeps its additions, of one more loses the last of them, and a larger one all but the least", () => {
    const head = letter({ data: "x".repeat(1_000_000) }).length - 1_000_000;
    // The length of the data takes three bytes from 2^14 and four from 2^21 on.
    const fits = 10_000_000 - head - 1;
    const exact = letter({ data: "x".repeat(fits) });
    expect(exact).toHaveLength(10_000_000);
    const type = pubsubProtos().lookupType("google.pubsub.v1.PubsubMessage");
    const attributesOf = (bytes: Buffer): string[] =>
      Object.keys((type.decode(bytes) as unknown as { attributes: object }).attributes);
    expect(attributesOf(exact)).toHaveLength(11);
    const shorter = letter({ data: "x".repeat(fits + 1) });
    expect(attributesOf(shorter)).toHaveLength(10);
    expect(attributesOf(shorter)).not.toContain("CloudPubSubDeadLetterSourceTopicPublishTime");
    const least = letter({ data: "x".repeat(10_000_001), attributes: { mine: "1" } });
    expect(attributesOf(least)).toEqual([
      "millrace_attributes_left_out",
      "millrace_error_code",
      "CloudPubSubDeadLetterSourceDeliveryCount",
    ]);
  });

  test("that the topic refuses has another form, the data always as it came, until they are spent", () => {
    const message: Message = {
      data: "x",
      attributes: { tenant: "t9", googclient_schemaencoding: "JSON" },
      orderingKey: "k",
    };
    const forms = [0, 1, 2, 3].map((form) => decode("PubsubMessage", letter(message, form)));
    for (const form of forms)
      expect(form).toMatchObject({ data: Buffer.from("x").toString("base64"), orderingKey: "k" });
    expect(Object.keys(forms[3]!["attributes"] as object)).toHaveLength(3);
    expect(encoded(message, 4)).toBe("spent");
  });

  test("of a message that Pub/Sub itself had dead-lettered keeps what Pub/Sub said", () => {
    const attributes = {
      CloudPubSubDeadLetterSourceDeliveryCount: "5",
      CloudPubSubDeadLetterSourceSubscription: "invoices",
      millrace_stage: "mine",
    };
    expect(decode("PubsubMessage", letter({ data: "x", attributes }))["attributes"]).toMatchObject({
      CloudPubSubDeadLetterSourceDeliveryCount: "1",
      CloudPubSubDeadLetterSourceSubscription: "orders",
      millrace_stage: "transcode",
      millrace_original_CloudPubSubDeadLetterSourceDeliveryCount: "5",
      millrace_original_CloudPubSubDeadLetterSourceSubscription: "invoices",
      millrace_original_millrace_stage: "mine",
    });
  });

  test("of a message that came back as a letter goes on counting, and ends at the limit", () => {
    const earlier = { millrace_error_code: "TYPE_MISMATCH", CloudPubSubDeadLetterSourceDeliveryCount: "4" };
    expect(decode("PubsubMessage", letter({ data: "x", attributes: earlier }))).toMatchObject({
      attributes: { CloudPubSubDeadLetterSourceDeliveryCount: "5" },
    });
    const last = { ...earlier, CloudPubSubDeadLetterSourceDeliveryCount: "5" };
    expect(encoded({ data: "x", attributes: last }, 0)).toBe("circling");
    // A message of somebody else's, forwarded by Pub/Sub itself, is no letter of ours.
    const foreign = { CloudPubSubDeadLetterSourceDeliveryCount: "9" };
    expect(decode("PubsubMessage", letter({ data: "x", attributes: foreign }))).toMatchObject({
      attributes: { CloudPubSubDeadLetterSourceDeliveryCount: "1" },
    });
  });
});

describe("a publish request", () => {
  test("is what protobufjs reads", () => {
    const request = new PublishRequest("projects/acme/topics/dead");
    request.add(pieces({ data: "one" }));
    request.add(pieces({ data: "two" }));
    const decoded = decode("PublishRequest", request.bytes) as { topic: string; messages: { data: string }[] };
    expect(decoded.topic).toBe("projects/acme/topics/dead");
    expect(decoded.messages.map(({ data }) => Buffer.from(data, "base64").toString())).toEqual(["one", "two"]);
  });

  test("takes a thousand messages", () => {
    const request = new PublishRequest("projects/acme/topics/dead");
    for (let k = 0; k < 1000; k++) expect(request.add([Buffer.from("m")])).toBe(true);
    expect(request.add([Buffer.from("m")])).toBe(false);
    expect(request.messages).toBe(1000);
  });

  test("takes 10,000,000 bytes, or one message of any size", () => {
    const topic = "projects/acme/topics/dead";
    // Topic: 2 + 25. A message of a million bytes: 1 + 3; the last one fills the rest.
    const request = new PublishRequest(topic);
    for (let k = 0; k < 9; k++) request.add([Buffer.alloc(1_000_000)]);
    const left = 10_000_000 - 27 - 9 * 1_000_004 - 4;
    expect(request.add([Buffer.alloc(left + 1)])).toBe(false);
    expect(request.add([Buffer.alloc(left)])).toBe(true);
    expect(request.bytes).toHaveLength(10_000_000);
    expect(new PublishRequest(topic).add([Buffer.alloc(20_000_000)])).toBe(true);
  });
});
