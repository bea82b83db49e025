import { expect, test } from "vitest";
import { readinessOf } from "../../../src/telemetry/health.ts";

test("ready are pipelines that are all active; the others are named with their reasons", () => {
  const active = { name: "a", state: "ACTIVE", reason: "" } as const;
  const held = { name: "b", state: "NOT_FOUND", reason: "create the table" } as const;
  expect(readinessOf([active])).toEqual({ ready: true, reasons: [] });
  expect(readinessOf([active, held, { ...active, name: "c", state: "DRAINING" }])).toEqual({
    ready: false,
    reasons: [
      { pipeline: "b", state: "NOT_FOUND", reason: "create the table" },
      { pipeline: "c", state: "DRAINING", reason: "" },
    ],
  });
});
