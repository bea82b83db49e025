/** Limits of publish requests, and messages kept byte for byte; protobufjs gives the second opinion. */
import { describe, expect, test } from "vitest";
import { readPublishRequest } from "../../../../src/emulator/pubsub/message-content.ts";
import { decodeMessage, storeMessages } from "../../../../src/emulator/pubsub/stored-message.ts";
import { pubsubProtos } from "../../../../src/lib/protos.ts";

function request(messages: readonly object[]): Buffer {
  const type = pubsubProtos().lookupType("google.pubsub.v1.PublishRequest");
  return Buffer.from(type.encode(type.fromObject({ topic: "projects/p/topics/ttt", messages })).finish());
}

const attributes = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
const data = Buffer.from("x");

describe("a publish request", () => {
  test("is kept as published, with the service's id and time instead of the publisher's", () => {
    const published = {
      data: Buffer.from([0, 255, 10]),
      attributes: { ключ: "значение", empty: "" },
      orderingKey: "k/1",
      messageId: "mine",
      publishTime: { seconds: 1, nanos: 2 },
    };
    const { topic, messages } = readPublishRequest(request([published, { data }]));
    expect(topic).toBe("projects/p/topics/ttt");
    expect(messages[0]!.orderingKey).toBe("k/1");
    const stored = storeMessages(messages, 999, 1_700_000_000_123);
    expect(stored.map(decodeMessage)).toEqual([
      {
        data: published.data,
        attributes: published.attributes,
        messageId: "999",
        publishTimeMs: 1_700_000_000_123,
        orderingKey: "k/1",
      },
      { data, attributes: {}, messageId: "1000", publishTimeMs: 1_700_000_000_123, orderingKey: "" },
    ]);
    const type = pubsubProtos().lookupType("google.pubsub.v1.PubsubMessage");
    const { publication, start, end } = stored[0]!;
    expect(type.toObject(type.decode(publication.buffer.subarray(start, end)), { longs: String })).toEqual({
      data: published.data,
      attributes: published.attributes,
      orderingKey: "k/1",
      messageId: "999",
      publishTime: { seconds: "1700000000", nanos: 123_000_000 },
    });
  });

  test.each([
    ["1,000 messages", Array.from({ length: 1000 }, () => ({ data }))],
    ["100 attributes", [{ attributes: attributes(100) }]],
    ["an attribute key of 256 bytes and a value of 1,024", [{ attributes: { ["é".repeat(128)]: "v".repeat(1024) } }]],
    ["an ordering key of 1,024 bytes", [{ data, orderingKey: "k".repeat(1024) }]],
    ["10,000,000 bytes of data", [{ data: Buffer.alloc(10_000_000) }]],
    ["an attribute and no data", [{ attributes: { a: "" } }]],
  ])("may have %s", (_what, messages) => {
    expect(readPublishRequest(request(messages)).messages).toHaveLength(messages.length);
  });

  test.each([
    ["no messages", [], "no messages"],
    ["1,001 messages", Array.from({ length: 1001 }, () => ({ data })), "has 1001 messages; at most 1000"],
    ["101 attributes", [{ attributes: attributes(101) }], "has 101 attributes; at most 100"],
    ["an attribute key of 257 bytes", [{ attributes: { ["k".repeat(257)]: "" } }], "key has 257 bytes; at most 256"],
    ["an attribute value of 1,025 bytes", [{ attributes: { k: "v".repeat(1025) } }], "value has 1025 bytes; at most"],
    ["an empty attribute key", [{ attributes: { "": "v" } }], "attribute key is empty"],
    ["an ordering key of 1,025 bytes", [{ data, orderingKey: "k".repeat(1025) }], "ordering key has 1025 bytes"],
    ["a message of 10,000,001 bytes", [{ data: Buffer.alloc(9_999_999), attributes: { k: "v" } }], "10000001 bytes"],
    ["neither data nor attributes", [{ orderingKey: "k" }], "needs data or at least one attribute"],
    ["more than 10 MiB together", [{ data: Buffer.alloc(6e6) }, { data: Buffer.alloc(6e6) }], "at most 10485760"],
  ])("is refused with %s", (_what, messages, words) => {
    expect(() => readPublishRequest(request(messages))).toThrow(words);
    expect(() => readPublishRequest(request(messages))).toThrow(expect.objectContaining({ code: 3 }));
  });

  test("is refused with text that is not UTF-8", () => {
    const bytes = request([{ data, attributes: { key: "value" } }]);
    bytes[bytes.indexOf("value")] = 0xff;
    expect(() => readPublishRequest(bytes)).toThrow("An attribute value is not UTF-8");
  });

  test("is refused when it is cut off", () => {
    const bytes = request([{ data: Buffer.from("long enough") }]);
    expect(() => readPublishRequest(bytes.subarray(0, bytes.length - 3))).toThrow(Error);
  });
});
