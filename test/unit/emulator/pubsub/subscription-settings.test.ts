import { describe, expect, test } from "vitest";
import { applyMask, subscriptionResource, toResource } from "../../../../src/emulator/pubsub/subscription-resource.ts";
import { readSettings } from "../../../../src/emulator/pubsub/subscription-settings.ts";
import { RpcError } from "../../../../src/emulator/rpc-error.ts";

const base = { name: "projects/p/subscriptions/sss", topic: "projects/p/topics/ttt" };
const read = (properties: object): ReturnType<typeof readSettings> =>
  readSettings(subscriptionResource({ ...base, ...properties }));
const seconds = (count: number): object => ({ seconds: count });
const day = 24 * 3600;
const dead = "projects/other/topics/dead";

test("defaults (COMMON-01, -08, -10, RETRY-02, ORDER-04)", () => {
  expect(read({})).toEqual({
    ...base,
    ackDeadlineMs: 10_000,
    retentionMs: 604_800_000,
    expirationMs: 2_678_400_000,
    ordered: false,
    exactlyOnce: false,
    filter: "",
    retainAcked: false,
    labels: {},
    retry: undefined,
    deadLetter: undefined,
  });
});

test.each([
  ["ack deadline 10 s", { ackDeadlineSeconds: 10 }, { ackDeadlineMs: 10_000 }],
  [
    "a longer ack deadline with exactly-once delivery (PULL-01)",
    { enableExactlyOnceDelivery: true },
    { exactlyOnce: true, ackDeadlineMs: 60_000 },
  ],
  [
    "an ack deadline of one's own with exactly-once delivery",
    { enableExactlyOnceDelivery: true, ackDeadlineSeconds: 10 },
    { ackDeadlineMs: 10_000 },
  ],
  ["a filter of 256 bytes", { filter: `attributes:${"a".repeat(245)}` }, { filter: `attributes:${"a".repeat(245)}` }],
  ["labels of other scripts", { labels: { группа: "база-1_2" } }, { labels: { группа: "база-1_2" } }],
  ["ack deadline 600 s", { ackDeadlineSeconds: 600 }, { ackDeadlineMs: 600_000 }],
  ["retention 10 min", { messageRetentionDuration: seconds(600) }, { retentionMs: 600_000 }],
  ["retention 31 d", { messageRetentionDuration: seconds(31 * day) }, { retentionMs: 2_678_400_000 }],
  [
    "expiration as long as the retention (COMMON-09)",
    { expirationPolicy: { ttl: seconds(7 * day) } },
    { expirationMs: 604_800_000 },
  ],
  ["no expiration", { expirationPolicy: {} }, { expirationMs: Infinity }],
  [
    "only the maximum backoff (RETRY-03)",
    { retryPolicy: { maximumBackoff: seconds(60) } },
    { retry: { minBackoffMs: 10_000, maxBackoffMs: 60_000 } },
  ],
  [
    "only the minimum backoff (RETRY-03)",
    { retryPolicy: { minimumBackoff: { seconds: 1, nanos: 500_000_000 } } },
    { retry: { minBackoffMs: 1500, maxBackoffMs: 600_000 } },
  ],
  [
    "dead letters with the default of attempts (DLQ-02)",
    { deadLetterPolicy: { deadLetterTopic: dead } },
    { deadLetter: { topic: dead, maxDeliveryAttempts: 5 } },
  ],
  [
    "100 attempts",
    { deadLetterPolicy: { deadLetterTopic: dead, maxDeliveryAttempts: 100 } },
    { deadLetter: { topic: dead, maxDeliveryAttempts: 100 } },
  ],
])("taken: %s", (_what, properties, expected) => {
  expect(read(properties)).toMatchObject(expected);
});

test.each([
  ["ack deadline 9 s", { ackDeadlineSeconds: 9 }, "INVALID_ARGUMENT"],
  ["ack deadline 601 s", { ackDeadlineSeconds: 601 }, "INVALID_ARGUMENT"],
  ["retention below 10 min", { messageRetentionDuration: seconds(599) }, "INVALID_ARGUMENT"],
  ["retention above 31 d", { messageRetentionDuration: seconds(31 * day + 1) }, "INVALID_ARGUMENT"],
  ["expiration below a day", { expirationPolicy: { ttl: seconds(day - 1) } }, "INVALID_ARGUMENT"],
  ["expiration before retention", { expirationPolicy: { ttl: seconds(6 * day) } }, "INVALID_ARGUMENT"],
  ["backoff above 600 s", { retryPolicy: { maximumBackoff: seconds(601) } }, "INVALID_ARGUMENT"],
  ["negative backoff", { retryPolicy: { minimumBackoff: seconds(-1) } }, "INVALID_ARGUMENT"],
  ["minimum above maximum", { retryPolicy: { maximumBackoff: seconds(5) } }, "INVALID_ARGUMENT"],
  ["4 attempts", { deadLetterPolicy: { deadLetterTopic: dead, maxDeliveryAttempts: 4 } }, "OUT_OF_RANGE"],
  ["101 attempts", { deadLetterPolicy: { deadLetterTopic: dead, maxDeliveryAttempts: 101 } }, "OUT_OF_RANGE"],
  ["its own topic for dead letters", { deadLetterPolicy: { deadLetterTopic: base.topic } }, "INVALID_ARGUMENT"],
  ["a short name", { name: "projects/p/subscriptions/ss" }, "INVALID_ARGUMENT"],
  ["a name that begins with a digit", { name: "projects/p/subscriptions/1sss" }, "INVALID_ARGUMENT"],
  ["a name that begins with goog", { name: "projects/p/subscriptions/googol" }, "INVALID_ARGUMENT"],
  ["a topic's name", { name: "projects/p/topics/sss" }, "INVALID_ARGUMENT"],
  ["a filter that cannot be read", { filter: "attributes" }, "INVALID_ARGUMENT"],
  ["a filter of 257 bytes", { filter: `attributes:${"a".repeat(246)}` }, "INVALID_ARGUMENT"],
  [
    "65 labels",
    { labels: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`l${i}`, ""])) },
    "INVALID_ARGUMENT",
  ],
  ["a label with an upper-case letter", { labels: { Team: "a" } }, "INVALID_ARGUMENT"],
  ["a label that begins with a digit", { labels: { "1team": "a" } }, "INVALID_ARGUMENT"],
  ["a label's value of 64 characters", { labels: { team: "a".repeat(64) } }, "INVALID_ARGUMENT"],
  ["push", { pushConfig: { pushEndpoint: "https://example.com" } }, "UNIMPLEMENTED"],
  ["BigQuery", { bigqueryConfig: { table: "p.d.t" } }, "UNIMPLEMENTED"],
  ["Cloud Storage", { cloudStorageConfig: { bucket: "b" } }, "UNIMPLEMENTED"],
  ["transforms", { messageTransforms: [{ javascriptUdf: { functionName: "f", code: "" } }] }, "UNIMPLEMENTED"],
] as const)("refused: %s", (_what, properties, status) => {
  expect(() => read(properties)).toThrow(expect.objectContaining({ code: new RpcError(status, "").code }));
});

describe("the resource", () => {
  const status = { detached: false, topicRetentionMs: 0 };

  test("says what it is beside its properties", () => {
    const resource = toResource(read({}), { detached: true, topicRetentionMs: 600_500 });
    expect(resource).toMatchObject({
      detached: true,
      topicMessageRetentionDuration: { seconds: "600", nanos: 500_000_000 },
    });
    expect(toResource(read({}), status)).not.toHaveProperty("topicMessageRetentionDuration");
  });

  test("reads back as the settings it was made of", () => {
    const settings = read({
      ackDeadlineSeconds: 77,
      messageRetentionDuration: seconds(1200),
      expirationPolicy: {},
      enableMessageOrdering: true,
      enableExactlyOnceDelivery: true,
      retainAckedMessages: true,
      filter: "attributes:a",
      labels: { team: "a" },
      retryPolicy: { minimumBackoff: { seconds: 1, nanos: 250_000_000 }, maximumBackoff: seconds(9) },
      deadLetterPolicy: { deadLetterTopic: dead, maxDeliveryAttempts: 7 },
    });
    expect(readSettings(subscriptionResource(toResource(settings, status)))).toEqual(settings);
  });

  test("takes from an update what the mask names, and nothing else", () => {
    const resource = subscriptionResource({ ...base, ackDeadlineSeconds: 20, labels: { a: "1" } });
    const changes = subscriptionResource({ ...base, ackDeadlineSeconds: 30, labels: { b: "2" } });
    const changed = applyMask(resource, changes, ["ack_deadline_seconds"]);
    expect(readSettings(changed)).toMatchObject({ ackDeadlineMs: 30_000, labels: { a: "1" } });
  });

  test.each([[[]], [["filter"]], [["enable_message_ordering"]], [["topic"]], [["no_such_field"]]])(
    "is not changed by the mask %j",
    (mask) => {
      const resource = subscriptionResource(base);
      expect(() => applyMask(resource, resource, mask)).toThrow(expect.objectContaining({ code: 3 }));
    },
  );
});
