import { describe, expect, test } from "vitest";
import type { Refusal } from "../../../src/errors.ts";
import { addedAttributes, type LetterSubject } from "../../../src/dead-letter/letter-attributes.ts";

const origin = { subscription: "projects/acme/subscriptions/orders", pipeline: "orders" };
// 2026-08-24T10:35:14.812345Z
const subject = { messageId: "77", publishTimeMicros: 1_787_567_714_812_345n, deliveryAttempt: 3, earlier: undefined };
const refusal = {
  code: "OUT_OF_RANGE",
  path: "items[2].price",
  message: "Too many digits.",
  stage: "transcode",
} as const;

function allOf(of: LetterSubject, why: Refusal): Record<string, string> {
  const { least, needed, extras } = addedAttributes(of, why, origin);
  return Object.fromEntries([...least, ...needed, ...extras]);
}

describe("what a letter says", () => {
  test("is the five attributes of Pub/Sub's own dead letters, and ours", () => {
    expect(allOf(subject, refusal)).toEqual({
      CloudPubSubDeadLetterSourceDeliveryCount: "3",
      CloudPubSubDeadLetterSourceSubscription: "orders",
      CloudPubSubDeadLetterSourceSubscriptionProject: "acme",
      CloudPubSubDeadLetterSourceTopicPublishTime: "2026-08-24T10:35:14.812+00:00",
      CloudPubSubDeadLetterSourceDeliveryErrorMessage: "OUT_OF_RANGE at items[2].price: Too many digits.",
      millrace_error_code: "OUT_OF_RANGE",
      millrace_error_path: "items[2].price",
      millrace_stage: "transcode",
      millrace_pipeline: "orders",
      millrace_message_id: "77",
      millrace_publish_time: "1787567714812345",
    });
  });

  test("counts the first delivery where the subscription does not count", () => {
    const added = allOf({ ...subject, deliveryAttempt: 0 }, refusal);
    expect(added["CloudPubSubDeadLetterSourceDeliveryCount"]).toBe("1");
  });

  test("has BigQuery's words in the error message alone", () => {
    const rejected = { ...refusal, path: "", serverMessage: "bad row: secret" };
    const holding = Object.entries(allOf(subject, rejected)).filter(([, value]) => value.includes("secret"));
    expect(holding).toEqual([
      [
        "CloudPubSubDeadLetterSourceDeliveryErrorMessage",
        "OUT_OF_RANGE: Too many digits. BigQuery says: bad row: secret",
      ],
    ]);
  });

  test("is cut to 1,024 bytes a value", () => {
    const added = allOf(subject, { ...refusal, path: "ä".repeat(1000) });
    // 1,021 bytes are left beside the mark's three: 510 characters of two bytes.
    expect(added["millrace_error_path"]).toBe(`${"ä".repeat(510)}…`);
  });

  test("dq-04: 3,000 bytes of BigQuery's words, of letters of three bytes, are cut between two letters", () => {
    const serverMessage = "行".repeat(1000);
    const { CloudPubSubDeadLetterSourceDeliveryErrorMessage: told } = allOf(subject, {
      ...refusal,
      path: "",
      serverMessage,
    });
    const start = "OUT_OF_RANGE: Too many digits. BigQuery says: ";
    // 1,024 bytes less the start's 46 and the mark's 3 leave 975: 325 letters.
    expect(start).toHaveLength(46);
    expect(told).toBe(`${start}${"行".repeat(325)}…`);
    expect(Buffer.byteLength(told!)).toBe(1024);
  });

  test("of a message that came back: id, time and first error of its first life, the present error and count of this one", () => {
    const earlier = { deliveryCount: 2, messageId: "12", publishTime: "1000", firstError: "TYPE_MISMATCH at id" };
    expect(allOf({ ...subject, earlier }, refusal)).toMatchObject({
      CloudPubSubDeadLetterSourceDeliveryCount: "3",
      CloudPubSubDeadLetterSourceTopicPublishTime: "2026-08-24T10:35:14.812+00:00",
      millrace_message_id: "12",
      millrace_publish_time: "1000",
      millrace_error_code: "OUT_OF_RANGE",
      millrace_error_path: "items[2].price",
      millrace_first_error: "TYPE_MISMATCH at id",
    });
  });
});
