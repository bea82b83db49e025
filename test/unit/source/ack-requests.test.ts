import { describe, expect, test } from "vitest";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import { AckRequest } from "../../../src/source/ack-requests.ts";

const subscription = "projects/acme/subscriptions/orders";

function decode(name: string, bytes: Buffer): object {
  const type = pubsubProtos().lookupType(`google.pubsub.v1.${name}`);
  return type.toObject(type.decode(bytes), { defaults: true });
}

/** Ids of one length in a row. */
function ids(idLength: number): { bytes: Buffer; ackIdStart(i: number): number; ackIdEnd(i: number): number } {
  const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, i) => String(i).padStart(idLength, "0")).join(""));
  return { bytes, ackIdStart: (i) => i * idLength, ackIdEnd: (i) => (i + 1) * idLength };
}

test("acks and deadlines are what protobufjs reads", () => {
  const ack = AckRequest.acknowledge(subscription);
  expect(ack.addIds(ids(5), [3, 1], 0, 2)).toBe(2);
  expect(decode("AcknowledgeRequest", ack.bytes)).toEqual({ subscription, ackIds: ["00003", "00001"] });
  expect(ack.ids).toBe(2);
  for (const seconds of [0, 10, 127, 128, 600]) {
    const deadline = AckRequest.modifyAckDeadline(subscription, seconds);
    deadline.addIds(ids(200), undefined, 0, 1);
    expect(decode("ModifyAckDeadlineRequest", deadline.bytes)).toEqual({
      subscription,
      ackIds: ["0".repeat(200)],
      ackDeadlineSeconds: seconds,
    });
  }
});

describe("a full request", () => {
  // The head has 36 bytes; an id has a tag and one byte of length up to 127 bytes, two beyond. 507,904 − 36 = 507,868.
  test.each([
    [250, Math.floor(507_868 / 253)],
    [1000, Math.floor(507_868 / 1003)],
  ])("of acks with ids of %i bytes has %i of them, below 512 KiB", (idLength, count) => {
    const request = AckRequest.acknowledge(subscription);
    const reached = request.addIds(ids(idLength), undefined, 0, 10_000);
    expect(request.bytes.length).toBeLessThanOrEqual(524_288 - 16_384);
    expect(Math.abs(reached - count)).toBeLessThanOrEqual(1);
    expect(request.ids).toBe(reached);
  });

  test.each([
    ["acks", AckRequest.acknowledge(subscription)],
    ["deadlines", AckRequest.modifyAckDeadline(subscription, 10)],
  ])("of %s has 2,500 ids at most", (_, request) => {
    expect(request.addIds(ids(10), undefined, 0, 10_000)).toBe(2500);
    expect(request.addIds(ids(10), undefined, 2500, 10_000)).toBe(2500);
  });

  test("takes one id however long it is", () => {
    const request = AckRequest.acknowledge(subscription);
    const long = Buffer.alloc(600_000, "x");
    const source = { bytes: long, ackIdStart: () => 0, ackIdEnd: () => 600_000 };
    expect(request.addIds(source, undefined, 0, 2)).toBe(1);
  });
});
