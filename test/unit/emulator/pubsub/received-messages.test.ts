/** Responses spliced together from bytes, and requests walked as bytes; protobufjs is the second opinion. */
import { expect, test } from "vitest";
import { AckIds } from "../../../../src/emulator/pubsub/ack-ids.ts";
import { Delivery } from "../../../../src/emulator/pubsub/delivery.ts";
import { encodeContent } from "../../../../src/emulator/pubsub/message-content.ts";
import { encodeReceived } from "../../../../src/emulator/pubsub/received-messages.ts";
import { storeMessages } from "../../../../src/emulator/pubsub/stored-message.ts";
import {
  readAcknowledgeRequest,
  readModifyAckDeadlineRequest,
  readStreamingPullRequest,
} from "../../../../src/emulator/pubsub/subscriber-requests.ts";
import { pubsubProtos } from "../../../../src/lib/protos.ts";

const type = (name: string) => pubsubProtos().lookupType(`google.pubsub.v1.${name}`);
const encode = (name: string, message: object): Buffer =>
  Buffer.from(type(name).encode(type(name).fromObject(message)).finish());
const decode = (name: string, bytes: Buffer): unknown =>
  type(name).toObject(type(name).decode(bytes), { longs: String, enums: String, defaults: true });

/** Handed out with these ack numbers, with data of these lengths. */
function deliveries(...numbers: [ackNumber: number, dataLength: number][]): Delivery[] {
  const contents = numbers.map(([, length]) => encodeContent({ data: "x".repeat(length), attributes: { n: "1" } }));
  return storeMessages(contents, 70, 1_700_000_000_000).map((message, i) => {
    const delivery = new Delivery(message, undefined);
    delivery.ackNumber = numbers[i]![0];
    delivery.failures = i;
    return delivery;
  });
}

const received = (ackId: string, id: string, length: number, deliveryAttempt: number): object => ({
  ackId,
  deliveryAttempt,
  message: {
    data: Buffer.from("x".repeat(length)),
    attributes: { n: "1" },
    messageId: id,
    publishTime: { seconds: "1700000000", nanos: 0 },
    orderingKey: "",
  },
});

test("a StreamingPullResponse, lengths around the sizes at which varints grow", () => {
  const ackIds = new AckIds("tag");
  const batch = deliveries([1, 40], [9_999_999_999, 90], [10, 16_300], [100, 20_000]);
  const tail = Buffer.from([0x22, 2, 0x10, 1]);
  const bytes = encodeReceived(batch, { ackIds, countAttempts: true, tail });
  expect(decode("StreamingPullResponse", bytes)).toMatchObject({
    receivedMessages: [
      received("tag-1", "70", 40, 1),
      received("tag-9999999999", "71", 90, 2),
      received("tag-10", "72", 16_300, 3),
      received("tag-100", "73", 20_000, 4),
    ],
    subscriptionProperties: { messageOrderingEnabled: true, exactlyOnceDeliveryEnabled: false },
  });
});

test("a PullResponse that does not count attempts", () => {
  const ackIds = new AckIds("tag");
  const bytes = encodeReceived(deliveries([7, 1]), { ackIds, countAttempts: false, tail: Buffer.alloc(0) });
  expect(decode("PullResponse", bytes)).toEqual({ receivedMessages: [received("tag-7", "70", 1, 0)] });
});

test("ack ids are read from where they stand", () => {
  const ackIds = new AckIds("55");
  const bytes = encode("AcknowledgeRequest", { subscription: "s", ackIds: ["55-1", "55-20", "55-123456789012"] });
  const request = readAcknowledgeRequest(bytes);
  expect(request.subscription).toBe("s");
  expect(ackIds.readAll(bytes, request.ackIds)).toEqual([1, 20, 123_456_789_012]);
});

test.each(["", "55", "55-", "56-1", "55-1x", "55--1", "projects/p/subscriptions/s:1", "5-1"])(
  "%j is no ack id of the subscription",
  (id) => {
    const bytes = Buffer.from(`before${id}`);
    expect(() => new AckIds("55").readAll(bytes, [6, bytes.length])).toThrow(expect.objectContaining({ code: 3 }));
    expect(new AckIds("55").readAll(bytes, [6, bytes.length], 0)).toEqual([0]);
  },
);

test("a ModifyAckDeadlineRequest", () => {
  const bytes = encode("ModifyAckDeadlineRequest", { subscription: "s", ackIds: ["1-1"], ackDeadlineSeconds: 600 });
  const { ackIds, ...rest } = readModifyAckDeadlineRequest(bytes);
  expect(rest).toEqual({ subscription: "s", ackDeadlineSeconds: 600 });
  expect(new AckIds("1").readAll(bytes, ackIds)).toEqual([1]);
});

test("a StreamingPullRequest with every field", () => {
  const bytes = encode("StreamingPullRequest", {
    subscription: "projects/p/subscriptions/s",
    ackIds: ["1-2", "1-3"],
    modifyDeadlineSeconds: [0, 600, -1],
    modifyDeadlineAckIds: ["1-4", "1-5", "1-6"],
    streamAckDeadlineSeconds: 60,
    clientId: "me",
    maxOutstandingMessages: 20_000,
    maxOutstandingBytes: 8_000_000_000,
    protocolVersion: 1,
  });
  const { ackIds, modifyDeadlineAckIds, ...rest } = readStreamingPullRequest(bytes);
  expect(rest).toEqual({
    subscription: "projects/p/subscriptions/s",
    modifyDeadlineSeconds: [0, 600, -1],
    streamAckDeadlineSeconds: 60,
    maxOutstandingMessages: 20_000,
    maxOutstandingBytes: 8_000_000_000,
    protocolVersion: 1,
  });
  const ids = new AckIds("1");
  expect([ids.readAll(bytes, ackIds), ids.readAll(bytes, modifyDeadlineAckIds)]).toEqual([
    [2, 3],
    [4, 5, 6],
  ]);
});

test("negative limits of flow control mean none: they are read as negative", () => {
  const bytes = encode("StreamingPullRequest", { maxOutstandingMessages: -1, maxOutstandingBytes: -5 });
  expect(readStreamingPullRequest(bytes)).toMatchObject({ maxOutstandingMessages: -1, maxOutstandingBytes: -5 });
});
