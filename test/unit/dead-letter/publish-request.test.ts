import { describe, expect, test } from "vitest";
import { type EncodedMessage, encodeLetter, PublishRequest } from "../../../src/dead-letter/publish-request.ts";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { encodeResponse, type FakeMessage } from "../../support/fake-subscriber.ts";

const origin = { subscription: "projects/acme/subscriptions/orders", pipeline: "orders" };
const refusal = { code: "MALFORMED_PAYLOAD", path: "", message: "Not JSON.", stage: "transcode" } as const;

function pieces(message: Omit<FakeMessage, "ackId">): EncodedMessage {
  const batch = new PulledBatch(encodeResponse([{ ackId: "other" }, { ackId: "a", ...message }]));
  return encodeLetter({ batch, message: 1, refusal }, origin);
}

function letter(message: Omit<FakeMessage, "ackId">): Buffer {
  return Buffer.concat(pieces(message));
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

  test("of 10,000,000 bytes keeps its additions, of one more loses the last of them, and a larger one all but its own", () => {
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
    const bare = letter({ data: "x".repeat(10_000_001), attributes: { mine: "1" } });
    expect(attributesOf(bare)).toEqual(["mine"]);
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
