import { expect, test } from "vitest";
import { earlierLetter } from "../../../src/dead-letter/earlier-letter.ts";

const letter = {
  millrace_error_code: "TYPE_MISMATCH",
  millrace_error_path: "id",
  millrace_message_id: "981",
  millrace_publish_time: "1000",
  CloudPubSubDeadLetterSourceDeliveryCount: "2",
};

const read = (attributes: Readonly<Record<string, string>>): ReturnType<typeof earlierLetter> =>
  earlierLetter(new Map(Object.entries(attributes)));

test("a letter of ours tells what it was made of", () => {
  expect(read({ ...letter, tenant: "t9" })).toEqual({
    deliveryCount: 2,
    messageId: "981",
    publishTime: "1000",
    firstError: "TYPE_MISMATCH at id",
  });
});

test("the first error stays the first", () => {
  expect(read({ ...letter, millrace_first_error: "MALFORMED_PAYLOAD" })?.firstError).toBe("MALFORMED_PAYLOAD");
  expect(read({ ...letter, millrace_error_path: "" })?.firstError).toBe("TYPE_MISMATCH");
});

test.each([
  ["an ordinary message", { tenant: "t9" }],
  ["one that Pub/Sub has forwarded", { CloudPubSubDeadLetterSourceDeliveryCount: "5" }],
  ["one whose count is none", { ...letter, CloudPubSubDeadLetterSourceDeliveryCount: "many" }],
])("%s is no letter of ours", (_, attributes) => {
  expect(read(attributes)).toBeUndefined();
});
