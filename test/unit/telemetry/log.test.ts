import { expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import { openLog } from "../../../src/telemetry/log.ts";

function capture(level: "debug" | "info"): { log: ReturnType<typeof openLog>; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = [];
  const log = openLog(level, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
  return { log, lines };
}

test("a line is one JSON object: level by name, time in ISO form, constant message, fields", () => {
  const { log, lines } = capture("info");
  log.debug("not written");
  log.child({ pipeline: "orders" }).info({ rows: 5 }, "pipeline drained");
  expect(lines).toEqual([
    {
      level: "info",
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      pipeline: "orders",
      rows: 5,
      msg: "pipeline drained",
    },
  ]);
});

test("an error is shown by kind, code and message; what a library attached to it is not, a stack only of a defect", () => {
  const { log, lines } = capture("info");
  const failure = Object.assign(new Error("14 UNAVAILABLE"), {
    code: 14,
    metadata: { authorization: "Bearer secret" },
  });
  log.error({ err: failure }, "call failed");
  log.error({ err: new SetupError("no port") }, "start failed");
  expect(lines[0]!["err"]).toEqual({ type: "Error", code: 14, message: "14 UNAVAILABLE", stack: failure.stack });
  expect(JSON.stringify(lines)).not.toContain("secret");
  expect(lines[1]!["err"]).toEqual({ type: "SetupError", message: "no port" });
});
