import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { Faults, faultScript, type Fault } from "../../../src/emulator/faults.ts";

const fault = (call: Fault["call"], method = "Publish"): Fault => ({ method, call, status: "UNAVAILABLE" });

/** The numbers of the calls, of the first six, at which a fault is due. */
function due(call: Fault["call"]): number[] {
  const faults = new Faults([fault(call)]);
  return [1, 2, 3, 4, 5, 6].filter(() => faults.next("Publish") !== undefined);
}

test.each([
  [3, [3]],
  ["2-4", [2, 3, 4]],
  ["5-", [5, 6]],
  ["all", [1, 2, 3, 4, 5, 6]],
] as const)("calls %j", (call, expected) => {
  expect(due(call)).toEqual(expected);
});

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

test("a fault of a method that does not exist would never come: it is refused", () => {
  expect(() => new Faults([fault(1, "Publsh")], ["Publish"])).toThrow("no method Publsh; expected one of Publish");
});

describe("a fault file", () => {
  test("has two parts, both optional", () => {
    expect(faultScript.parse({ pubsub: [fault(1)] })).toEqual({ pubsub: [fault(1)], bigquery: [] });
  });

  test.each([
    ["an unknown status", { status: "UNAVAILABEL" }],
    ["OK as a status", { status: "OK" }],
    ["call 0", { call: 0 }],
    ["a range without a beginning", { call: "-3" }],
    ["a negative delay", { delayMs: -1 }],
    ["an unknown key", { delay: 5 }],
    ["half a byte", { rowErrorsContaining: { bytes: "088", message: "m" } }],
  ])("is refused with %s", (_what, change) => {
    expect(faultScript.safeParse({ pubsub: [{ method: "Publish", call: 1, ...change }] }).success).toBe(false);
  });
});

test("the script that docs/emulator.md shows is one", () => {
  const page = readFileSync(new URL("../../../docs/emulator.md", import.meta.url), "utf8");
  const [, example = ""] = /```yaml\n(.*?)```/s.exec(page) ?? [];
  const { pubsub, bigquery } = faultScript.parse(parse(example));
  expect(pubsub.map(({ method, call }) => [method, call])).toEqual([["StreamingPull", "2-4"]]);
  expect(bigquery.map(({ method, call }) => [method, call])).toEqual([
    ["AppendRows", 1],
    ["AppendRows", 2],
    ["tables.get", "all"],
  ]);
});
