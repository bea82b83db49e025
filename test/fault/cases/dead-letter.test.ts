/** Cases that users of other consumers have reported: dead letters. Their list is test/fixtures/public-cases.json. */
import { describe, expect, test } from "vitest";
import { Stage } from "../stage.ts";

const id = { name: "id", type: "INT64", mode: "REQUIRED" };

const bytes = (text: string): number => Buffer.byteLength(text);

test("dq-01 Known-hopeless message: dead-letter at once, keep its properties", async () => {
  const stage = await Stage.running();
  const data = '{"id":"abc"}';
  const publishTime = String(stage.clock.now() * 1000);
  const [messageId] = stage.publish([{ data, attributes: { tenant: "t9", trace: "00-1" }, orderingKey: "o1" }]);
  await stage.settled();
  const [letter] = stage.letters;
  expect(letter!.data.toString()).toBe(data);
  expect(letter!.attributes).toMatchObject({
    tenant: "t9",
    trace: "00-1",
    millrace_error_code: "TYPE_MISMATCH",
    millrace_error_path: "id",
    millrace_message_id: messageId,
    millrace_publish_time: publishTime,
    CloudPubSubDeadLetterSourceSubscription: "orders",
  });
  expect(stage.letters).toHaveLength(1);
  expect(stage.deliveries).toBe(1);
});

test("dq-03 Failed-row output crashes on a timestamp", async () => {
  const stage = await Stage.running({ columns: [id, { name: "ts", type: "TIMESTAMP" }] });
  const data = '{ "ts" : "2024-09-03T18:51:43.417Z", "id" : "x" ,"n":1.10}';
  stage.publish([{ data }]);
  await stage.settled();
  expect(stage.letters).toHaveLength(1);
  expect(stage.letters[0]!.data.toString()).toBe(data);
  expect(stage.letters[0]!.attributes).toMatchObject({
    millrace_error_code: "TYPE_MISMATCH",
    millrace_error_path: "id",
  });
});

describe("dq-04 Dead letter at the attribute limits", () => {
  const attributes = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`a${String(i).padStart(2, "0")}`, "v"]));

  function expectWithinLimits(letter: Stage["letters"][number]): void {
    const all = Object.entries(letter.attributes);
    expect(all.length).toBeLessThanOrEqual(100);
    for (const [key, value] of all) {
      expect(bytes(key)).toBeLessThanOrEqual(256);
      expect(bytes(value)).toBeLessThanOrEqual(1024);
    }
  }

  test("a message with almost as many attributes as may be", async () => {
    const stage = await Stage.running();
    stage.publish([{ data: '{"id":"abc"}', attributes }]);
    await stage.settled();
    expect(stage.letters).toHaveLength(1);
    const [letter] = stage.letters;
    expectWithinLimits(letter!);
    expect(letter!.data.toString()).toBe('{"id":"abc"}');
    expect(letter!.attributes).toMatchObject({ millrace_error_code: "TYPE_MISMATCH" });
    expect(stage.pubsub.faults.calls("Publish")).toBeLessThanOrEqual(3);
  });

  test("a row error of 3,000 bytes with letters of several bytes", async () => {
    const rowErrorsContaining = { bytes: Buffer.from("bad").toString("hex"), message: "ü€😀".repeat(333) };
    const stage = await Stage.running({ faults: { bigquery: [{ method: "AppendRows", rowErrorsContaining }] } });
    stage.publish([{ data: '{"id":1,"name":"bad"}' }]);
    await stage.settled();
    const [letter] = stage.letters;
    expectWithinLimits(letter!);
    const text = letter!.attributes["CloudPubSubDeadLetterSourceDeliveryErrorMessage"]!;
    expect(bytes(text)).toBeGreaterThan(1000);
    // Cut between letters: no half of one is left.
    expect(text).not.toContain("\uFFFD");
    expect(text).toMatch(/^ROW_REJECTED[^ü]*(?:ü€😀)+(?:ü€?)?…?$/u);
  });
});

test("dq-05 Dead letters sent into the topic being read", async () => {
  const stage = await Stage.running({ deadLetters: "own topic" });
  stage.publish([{ data: '{"id":"abc"}' }]);
  await stage.clock.advance(60_000);
  // The file does not say which topic the subscription has: the pipeline is held, and says why.
  expect(stage.status.state).toBe("MISCONFIGURED");
  expect(stage.status.reason).toContain("projects/acme/topics/orders");
  expect(stage.published).toBe(1);
  expect(stage.unsettled).toBe(1);
});
