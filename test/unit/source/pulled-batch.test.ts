/** The walk over a response beside protobufjs. PROPERTY_SEED replays a run, PROPERTY_RUNS makes it longer. */
import * as fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { PulledBatch } from "../../../src/source/pulled-batch.ts";
import { MalformedResponse } from "../../../src/source/wire-cursor.ts";
import { propertySeed } from "../../support/property-seed.ts";

const numRuns = Number(process.env["PROPERTY_RUNS"] ?? 1000);
const type = pubsubProtos().lookupType("google.pubsub.v1.StreamingPullResponse");

const received = fc.record(
  {
    ackId: fc.string({ maxLength: 200 }),
    deliveryAttempt: fc.nat({ max: 2 ** 31 - 1 }),
    message: fc.record(
      {
        data: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
        attributes: fc.dictionary(fc.string({ unit: "grapheme", maxLength: 20 }), fc.string({ unit: "grapheme" })),
        messageId: fc.string({ unit: "grapheme", maxLength: 30 }),
        publishTime: fc.record(
          { seconds: fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), nanos: fc.nat({ max: 999_999_999 }) },
          { requiredKeys: [] },
        ),
        orderingKey: fc.string({ unit: "grapheme", maxLength: 30 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const response = fc.record(
  {
    receivedMessages: fc.array(received, { maxLength: 20 }),
    subscriptionProperties: fc.record({
      exactlyOnceDeliveryEnabled: fc.boolean(),
      messageOrderingEnabled: fc.boolean(),
    }),
    acknowledgeConfirmation: fc.record({ ackIds: fc.array(fc.string(), { maxLength: 3 }) }),
  },
  { requiredKeys: ["receivedMessages"] },
);

type Received = {
  ackId: string;
  deliveryAttempt: number;
  message?: {
    data: Buffer;
    attributes: Record<string, string>;
    messageId: string;
    publishTime?: { seconds: string; nanos: number };
    orderingKey: string;
  };
};

/** What protobufjs reads, in our terms. */
function expected(bytes: Buffer): unknown[] {
  const { receivedMessages } = type.toObject(type.decode(bytes), {
    defaults: true,
    arrays: true,
    objects: true,
    longs: String,
    bytes: Buffer,
  }) as { receivedMessages: Received[] };
  return receivedMessages.map(({ ackId, deliveryAttempt, message }) => {
    const time = message?.publishTime;
    return {
      ackId,
      deliveryAttempt,
      data: (message?.data ?? Buffer.alloc(0)).toString("hex"),
      attributes: new Map(Object.entries(message?.attributes ?? {})),
      messageId: message?.messageId ?? "",
      publishTimeMicros: time ? BigInt(time.seconds) * 1_000_000n + BigInt(time.nanos) / 1000n : 0n,
      orderingKey: message?.orderingKey ?? "",
    };
  });
}

function actual(bytes: Buffer): unknown[] {
  const batch = PulledBatch.parse(bytes);
  return Array.from({ length: batch.length }, (_, i) => ({
    ackId: batch.bytes.toString("utf8", batch.ackIdStart(i), batch.ackIdEnd(i)),
    deliveryAttempt: batch.deliveryAttempt(i),
    data: batch.bytes.toString("hex", batch.dataStart(i), batch.dataEnd(i)),
    attributes: batch.attributes(i),
    messageId: batch.messageId(i),
    publishTimeMicros: batch.publishTimeMicros(i),
    orderingKey: batch.orderingKey(i),
  }));
}

function passesTheWalk(bytes: Buffer): boolean {
  try {
    return PulledBatch.parse(bytes).length >= 0;
  } catch {
    return false;
  }
}

/** Whatever passes the walk can be asked for everything. Throws what is no refusal. */
function isReadable(bytes: Buffer): boolean {
  try {
    return actual(bytes).length >= 0;
  } catch (error) {
    if (error instanceof MalformedResponse && !passesTheWalk(bytes)) return false;
    throw error;
  }
}

const encode = (value: object): Buffer => Buffer.from(type.encode(type.fromObject(value)).finish());

test(`a response is read as protobufjs reads it, PROPERTY_SEED=${propertySeed}`, () => {
  fc.assert(
    fc.property(response, (value) => {
      const bytes = encode(value);
      expect(actual(bytes)).toEqual(expected(bytes));
    }),
    { seed: propertySeed, numRuns },
  );
});

test("the bytes of the messages are those of PubsubMessage, without ack IDs", () => {
  const messages = [{ messageId: "12", data: Buffer.alloc(300) }, {}];
  const bytes = encode({ receivedMessages: messages.map((message) => ({ ackId: "x".repeat(170), message })) });
  // data: tag, two bytes of length, 300; id: tag, length, 2.
  expect(PulledBatch.parse(bytes).messageBytes).toBe(303 + 4);
});

test(`a batch tells whether any message has an ordering key, PROPERTY_SEED=${propertySeed}`, () => {
  fc.assert(
    fc.property(response, (value) => {
      const keys = value.receivedMessages.map(({ message }) => message?.orderingKey ?? "");
      expect(PulledBatch.parse(encode(value)).hasOrderingKeys).toBe(keys.some((key) => key !== ""));
    }),
    { seed: propertySeed, numRuns },
  );
});

test(`broken bytes are read without harm or refused, PROPERTY_SEED=${propertySeed}`, () => {
  const broken = fc.tuple(response, fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 5 }), fc.nat());
  fc.assert(
    fc.property(broken, ([value, changes, cut]) => {
      const whole = encode(value);
      const bytes = whole.subarray(0, whole.length - (cut % 3 === 0 ? cut % (whole.length + 1) : 0));
      for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
      expect([true, false]).toContain(isReadable(bytes));
    }),
    { seed: propertySeed, numRuns },
  );
});

describe("what the service does not send today", () => {
  test("unknown fields of every kind are passed over", () => {
    const unknown = protobuf.Writer.create()
      .uint32((99 << 3) | 0)
      .uint64(2 ** 53)
      .uint32((99 << 3) | 1)
      .fixed64(1)
      .uint32((99 << 3) | 2)
      .string("new")
      .uint32((99 << 3) | 5)
      .fixed32(1)
      .finish();
    const message = Buffer.concat([unknown, Buffer.from([0x0a, 2, 104, 105]), unknown]);
    const head = Buffer.from([0x0a, 1, 97, 0x12, message.length]);
    const one = Buffer.concat([head, message, unknown]);
    const bytes = Buffer.concat([unknown, Buffer.from([0x0a, one.length]), one, unknown]);
    expect(actual(bytes)).toMatchObject([{ ackId: "a", data: "6869" }]);
    expect(actual(bytes)).toEqual(expected(bytes));
  });

  test.each([
    ["a part that ends behind its message", [0x0a, 3, 0x0a, 2, 97]],
    ["a length without end", [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]],
    ["a length of four gigabytes", [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]],
    ["a group", [0x0b, 0x0c]],
    ["an attribute that is cut", [0x0a, 5, 0x12, 3, 0x12, 1, 0x0a]],
  ])("%s is malformed", (_, bytes) => {
    expect(() => PulledBatch.parse(Buffer.from(bytes))).toThrow(MalformedResponse);
  });
});

test("a response of 100,000 messages has them all", () => {
  const receivedMessages = Array.from({ length: 100_000 }, (_, i) => ({
    ackId: `a${i}`,
    message: { messageId: `${i}` },
  }));
  const batch = PulledBatch.parse(encode({ receivedMessages }));
  expect(batch.length).toBe(100_000);
  expect(batch.messageId(99_999)).toBe("99999");
  const next = PulledBatch.parse(encode({ receivedMessages: [{ ackId: "b" }] }));
  expect([batch.messageId(0), next.messageId(0)]).toEqual(["0", ""]);
});
