import type { Logger } from "pino";
import { expect, test } from "vitest";
import { LimitedLog } from "../../../src/lib/limited-log.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

test("one every ten seconds of the monotonic clock, with how many were held back before it", async () => {
  const clock = new VirtualClock();
  const lines: unknown[][] = [];
  const log = new LimitedLog({ warn: (...line: unknown[]) => lines.push(line) } as unknown as Logger, clock);
  log.warn({ code: "UNAVAILABLE" }, "no answer");
  log.warn({ code: "ABORTED" }, "no answer");
  await clock.advance(9999);
  log.warn({}, "no answer");
  clock.jump(-86_400_000);
  await clock.advance(1);
  log.warn({ code: "INTERNAL" }, "still no answer");
  await clock.advance(10_000);
  log.warn({}, "no answer");
  expect(lines).toEqual([
    [{ code: "UNAVAILABLE", heldBack: 0 }, "no answer"],
    [{ code: "INTERNAL", heldBack: 2 }, "still no answer"],
    [{ heldBack: 0 }, "no answer"],
  ]);
});
