import type { Logger } from "pino";
import { expect, test } from "vitest";
import { LoggedState } from "../../../src/lib/logged-state.ts";

test("a change of state is logged once, with its reason; new words about the same state are not", () => {
  const lines: unknown[][] = [];
  const write =
    (level: string) =>
    (...line: unknown[]) =>
      lines.push([level, ...line]);
  const log = { info: write("info"), warn: write("warn") } as unknown as Logger;
  const topic = new LoggedState("STARTING", log, { topic: "t" }, "the topic changed its state");
  expect([topic.state, topic.reason]).toEqual(["STARTING", ""]);

  topic.become("UNAVAILABLE", "no answer for 1 s");
  topic.become("UNAVAILABLE", "no answer for 2 s");
  expect([topic.state, topic.reason]).toEqual(["UNAVAILABLE", "no answer for 2 s"]);
  topic.become("ACTIVE");
  topic.become("ACTIVE");
  expect([topic.state, topic.reason]).toEqual(["ACTIVE", ""]);
  expect(lines).toEqual([
    ["warn", { topic: "t", state: "UNAVAILABLE", reason: "no answer for 1 s" }, "the topic changed its state"],
    ["info", { topic: "t", state: "ACTIVE" }, "the topic changed its state"],
  ]);
});
