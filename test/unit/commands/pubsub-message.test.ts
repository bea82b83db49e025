import { expect, test } from "vitest";
import { parsePubsubMessage } from "../../../src/commands/pubsub-message.ts";

test("a message in the form of the REST API", () => {
  const message = {
    data: "eyJhIjoxfQ==",
    attributes: { k: "v", __proto__x: "" },
    messageId: "7",
    publishTime: "2024-01-02T03:04:05.678901234Z",
    orderingKey: "customer-1",
  };
  expect(parsePubsubMessage(JSON.stringify(message), "1")).toEqual({
    data: Buffer.from('{"a":1}'),
    attributes: new Map([
      ["k", "v"],
      ["__proto__x", ""],
    ]),
    messageId: "7",
    publishTimeMicros: BigInt(Date.UTC(2024, 0, 2, 3, 4, 5, 678)) * 1000n + 901n,
    orderingKey: "customer-1",
  });
});

test("what is left out is empty; the ID is that of the line", () => {
  const bare = {
    data: Buffer.alloc(0),
    attributes: new Map(),
    messageId: "12",
    publishTimeMicros: 0n,
    orderingKey: "",
  };
  expect(parsePubsubMessage("{}", "12")).toEqual(bare);
});

test("push requests spell keys in two ways, and base64 has two alphabets", () => {
  const message = { data: "-_-_", message_id: "7", publish_time: "2024-01-02T03:04:05Z", ordering_key: "k" };
  expect(parsePubsubMessage(JSON.stringify(message), "1")).toMatchObject({
    data: Buffer.from([0xfb, 0xff, 0xbf]),
    messageId: "7",
    publishTimeMicros: BigInt(Date.UTC(2024, 0, 2, 3, 4, 5)) * 1000n,
    orderingKey: "k",
  });
});

test.each([
  ["nonsense", /JSON object/],
  ["[]", /JSON object/],
  ["null", /JSON object/],
  ['{"device":"x"}', /fields besides/],
  ['{"data":"a*b="}', /base64/],
  ['{"data":"+/-_"}', /base64/],
  ['{"data":"AAAAA"}', /base64/],
  ['{"data":1}', /base64/],
  ['{"messageId":7}', /messageId/],
  [String.raw`{"orderingKey":"\ud800"}`, /orderingKey/],
  ['{"publishTime":"yesterday"}', /publishTime/],
  ['{"publishTime":1}', /publishTime/],
  ['{"attributes":[]}', /attributes/],
  ['{"attributes":{"a":1}}', /attributes/],
])("%s is none", (text, reason) => {
  expect(parsePubsubMessage(text, "1")).toMatch(reason);
});
