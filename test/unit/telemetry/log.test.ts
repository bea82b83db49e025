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
  expect(lines[0]!["err"]).toEqual({ type: "Error", code: 14, message: "14 UNAVAILABLE", stack: expect.any(Array) });
  expect((lines[0]!["err"] as { stack: string[] }).stack[0]).toMatch(/^at .*log\.test\.ts/);
  expect(JSON.stringify(lines)).not.toContain("secret");
  expect(lines[1]!["err"]).toEqual({ type: "SetupError", message: "no port" });
});

const quoting: [kind: string, code: string | undefined, provoke: () => unknown][] = [
  ["SyntaxError", undefined, () => JSON.parse('{"patient": miller}')],
  ["SyntaxError", undefined, () => BigInt("miller")],
  ["RangeError", undefined, () => BigInt(4711.5)],
  ["TypeError", "ERR_INVALID_ARG_TYPE", () => Buffer.byteLength(4711 as unknown as string)],
  ["RangeError", "ERR_OUT_OF_RANGE", () => Buffer.alloc(1).writeUInt8(4711)],
];

test.each(quoting)(
  "a %s %s of the engine is told without its words: they may quote a payload",
  (kind, code, provoke) => {
    const { log, lines } = capture("info");
    const thrown = thrownBy(provoke);
    expect((thrown as Error).message).toMatch(/miller|4711/);
    log.error({ err: thrown }, "defect");
    expect(lines[0]!["err"]).toEqual({ type: kind, ...(code && { code }), stack: expect.any(Array) });
    expect(JSON.stringify(lines)).not.toMatch(/miller|4711/);
  },
);

function thrownBy(provoke: () => unknown): unknown {
  try {
    provoke();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
