import { expect, test } from "vitest";
import type { Refusal } from "../../src/errors.ts";
import { Fates, Outcomes } from "../../src/message.ts";

const refusal: Refusal = { code: "TYPE_MISMATCH", path: "a", message: "no", stage: "transcode" };

test("messages are durable but for the exceptions", () => {
  const outcomes = new Outcomes(3);
  outcomes.set(2, { kind: "refused", refusal });
  outcomes.set(0, { kind: "abandoned" });
  expect([0, 1, 2].map((i) => outcomes.at(i).kind)).toEqual(["abandoned", "durable", "refused"]);
  expect([...outcomes.exceptions.keys()]).toEqual([2, 0]);
  expect(outcomes.length).toBe(3);
});

test("messages are acked but for those that are given back", () => {
  const fates = new Fates(3);
  fates.nack(0);
  fates.nack(2, 5000);
  expect([0, 1, 2].map((i) => fates.at(i))).toEqual([
    { kind: "nack", afterMs: 0 },
    { kind: "ack" },
    { kind: "nack", afterMs: 5000 },
  ]);
  expect([...fates.nacks]).toEqual([
    [0, 0],
    [2, 5000],
  ]);
});
