import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Faults, faultScript, type Fault } from "../../../src/emulator/faults.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const fault = (call: Fault["call"], method = "Publish"): Fault => ({ method, call, status: "UNAVAILABLE" });

test("each method is counted for itself, also without a fault", () => {
  const faults = new Faults([fault(2)]);
  expect(faults.next("Pull")).toBeUndefined();
  expect(faults.next("Publish")).toBeUndefined();
  expect(faults.next("Publish")).toMatchObject({ status: "UNAVAILABLE" });
  expect([faults.calls("Pull"), faults.calls("Publish"), faults.calls("Seek")]).toEqual([1, 2, 0]);
});

test("another script begins to count again", () => {
  const faults = new Faults();
  faults.next("Publish");
  faults.replace([fault(1)]);
  expect(faults.next("Publish")).toBeDefined();
});

test("the first fault of the script that is due is the one", () => {
  const faults = new Faults([
    { method: "Publish", every: 2, status: "ABORTED" },
    { method: "Publish", status: "INTERNAL" },
  ]);
  expect([1, 2, 3].map(() => faults.next("Publish")?.status)).toEqual(["INTERNAL", "ABORTED", "INTERNAL"]);
});

test("times are counted from when the script was set", async () => {
  const clock = new VirtualClock();
  await clock.advance(500);
  const faults = new Faults([{ ...fault("all"), fromMs: 100, untilMs: 200 }], undefined, clock);
  const due: boolean[] = [];
  for (let i = 0; i < 3; i++) {
    due.push(faults.next("Publish") !== undefined);
    await clock.advance(100);
  }
  faults.replace([{ ...fault("all"), untilMs: 50 }]);
  expect([...due, faults.next("Publish") !== undefined]).toEqual([false, true, false, true]);
});

test("of many calls at once, those up to the first fault are counted", () => {
  const faults = new Faults([fault("4-5")]);
  expect(faults.nextAmong("Pull", 10)).toBeUndefined();
  expect(faults.nextAmong("Publish", 3)).toBeUndefined();
  expect(faults.nextAmong("Publish", 9)).toMatchObject({ before: 0 });
  faults.replace([fault("4-5")]);
  expect(faults.nextAmong("Publish", 9)).toMatchObject({ before: 3, fault: { status: "UNAVAILABLE" } });
  expect([faults.calls("Pull"), faults.calls("Publish")]).toEqual([0, 4]);
});

test("a fault of a method that does not exist would never come: it is refused", () => {
  expect(() => new Faults([fault(1, "Publsh")], ["Publish"])).toThrow("no method Publsh; expected one of Publish");
});

describe("a fault file", () => {
  test("has two parts, both optional", () => {
    expect(faultScript.parse({ pubsub: [fault(1)] })).toEqual({ pubsub: [fault(1)], bigquery: [] });
  });

  test.each<[string, object]>([
    ["an unknown status", { status: "UNAVAILABEL" }],
    ["OK as a status", { status: "OK" }],
    ["call 0", { call: 0 }],
    ["a range without a beginning", { call: "-3" }],
    ["a range that ends before its beginning", { call: "10-9" }],
    ["a range that ends before the first call", { call: "0-0" }],
    ["a negative delay", { delayMs: -1 }],
    ["an unknown key", { delay: 5 }],
    ["half a byte", { method: "AppendRows", rowErrorsContaining: { bytes: "088", message: "m" } }],
    ["nothing that happens", { status: undefined }],
    ["two ends", { hang: "before" }],
    ["an end at no time", { status: undefined, reset: true }],
    ["row errors of another method", { rowErrors: [] }],
    ["ack errors of another method", { ackErrors: { code: "PERMANENT_FAILURE_INVALID_ACK_ID" } }],
    ["ack errors that are neither", { method: "Acknowledge", ackErrors: { code: "FAILURE" } }],
    ["a message without a status", { status: undefined, delayMs: 1, message: "m" }],
    ["done without anything to be done before", { status: undefined, goaway: true, done: true }],
    ["a seed without a probability", { seed: 1 }],
    ["a probability above one", { probability: 1.1 }],
    ["an end before its beginning", { fromMs: 10, untilMs: 10 }],
  ])("is refused with %s", (_what, change) => {
    const entry = { method: "Publish", call: 1, status: "UNAVAILABLE" };
    expect(faultScript.safeParse({ pubsub: [entry] }).success).toBe(true);
    expect(faultScript.safeParse({ pubsub: [{ ...entry, ...change }] }).success).toBe(false);
  });

  test("says what is wrong, also of a script that is no file", () => {
    const message = "the fault of Publish has status and hang: a call ends in one way";
    expect(() => new Faults([{ ...fault(1), hang: "before" }])).toThrow(message);
  });
});

test("the script that docs/emulator.md shows is one", () => {
  const page = readFileSync(new URL("../../../docs/emulator.md", import.meta.url), "utf8");
  const [, example = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { pubsub, bigquery } = faultScript.parse(parse(example));
  expect(pubsub.map(({ method, call }) => [method, call])).toEqual([
    ["StreamingPull", "2-4"],
    ["StreamingPull.message", undefined],
    ["Acknowledge", undefined],
    ["Acknowledge", undefined],
  ]);
  expect(bigquery.map(({ method, call }) => [method, call])).toEqual([
    ["AppendRows", 1],
    ["AppendRows", 2],
    ["AppendRows", undefined],
    ["tables.get", undefined],
  ]);
});
