import { describe, expect, test } from "vitest";
import { addedAttributes, cutToBytes, encodedBytes, withAdded } from "../../../src/dead-letter/letter-attributes.ts";

const origin = { subscription: "projects/acme/subscriptions/orders", pipeline: "orders" };
// 2026-08-24T10:35:14.812345Z
const subject = { messageId: "77", publishTimeMicros: 1_787_567_714_812_345n, deliveryAttempt: 3 };
const refusal = {
  code: "OUT_OF_RANGE",
  path: "items[2].price",
  message: "Too many digits.",
  stage: "transcode",
} as const;

describe("what a letter says", () => {
  test("is the five attributes of Pub/Sub's own dead letters, and ours", () => {
    expect(Object.fromEntries(addedAttributes(subject, refusal, origin))).toEqual({
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
    const added = new Map(addedAttributes({ ...subject, deliveryAttempt: 0 }, refusal, origin));
    expect(added.get("CloudPubSubDeadLetterSourceDeliveryCount")).toBe("1");
  });

  test("has BigQuery's words in the error message alone", () => {
    const rejected = { ...refusal, path: "", serverMessage: "bad row: secret" };
    const added = addedAttributes(subject, rejected, origin);
    const holding = added.filter(([, value]) => value.includes("secret"));
    expect(holding).toEqual([
      [
        "CloudPubSubDeadLetterSourceDeliveryErrorMessage",
        "OUT_OF_RANGE: Too many digits. BigQuery says: bad row: secret",
      ],
    ]);
  });

  test("is cut to 1,024 bytes a value", () => {
    const added = new Map(addedAttributes(subject, { ...refusal, path: "ä".repeat(1000) }, origin));
    // 1,021 bytes are left beside the mark's three: 510 characters of two bytes.
    expect(added.get("millrace_error_path")).toBe(`${"ä".repeat(510)}…`);
  });
});

describe("a text cut to bytes", () => {
  test.each([
    ["abcdef", 6, "abcdef"],
    ["abcdefg", 6, "abc…"],
    ["ab😀cd", 8, "ab😀cd"],
    ["ab😀cde", 8, "ab…"],
    ["ab😀cdef", 9, "ab😀…"],
    ["äää", 5, "ä…"],
  ])("%s to %i", (text, maxBytes, cut) => {
    expect(cutToBytes(text, maxBytes)).toBe(cut);
  });
});

describe("room", () => {
  const added = [
    ["first", "1"],
    ["second", "2"],
    ["third", "3"],
  ] as const;

  test("added attributes replace equal ones of the message", () => {
    const merged = withAdded(
      new Map([
        ["second", "theirs"],
        ["other", "x"],
      ]),
      added,
      Infinity,
    );
    expect(Object.fromEntries(merged)).toEqual({ second: "2", other: "x", first: "1", third: "3" });
  });

  test("a hundred attributes at most: the last ones give way, replacements take no room", () => {
    const original = new Map(Array.from({ length: 99 }, (_, i): [string, string] => [`k${i}`, "v"]));
    original.set("third", "theirs");
    expect(withAdded(original, added, Infinity)).toEqual(new Map([...original, ["third", "3"]]));
    original.delete("k0");
    expect(withAdded(original, added, Infinity)).toEqual(new Map([...original, ["first", "1"], ["third", "3"]]));
  });

  test("bytes: the last ones give way, the message's own never do", () => {
    // Each entry: tag and length (2), key's tag and length (2) and bytes, value's tag and length (2) and bytes.
    const original = new Map([["k", "v"]]);
    expect(encodedBytes(original)).toBe(8);
    const all = 8 + (6 + 5 + 1) + (6 + 6 + 1) + (6 + 5 + 1);
    expect([...withAdded(original, added, all).keys()]).toEqual(["k", "first", "second", "third"]);
    expect([...withAdded(original, added, all - 1).keys()]).toEqual(["k", "first", "second"]);
    expect([...withAdded(original, added, 20).keys()]).toEqual(["k", "first"]);
    expect([...withAdded(original, added, 0).keys()]).toEqual(["k"]);
  });
});
