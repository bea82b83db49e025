import { pino } from "pino";
import { expect, test } from "vitest";
import { DestinationState } from "../../../src/bigquery/destination-state.ts";
import type { Trouble } from "../../../src/bigquery/holds.ts";

test("a change of state is logged once, with its reason; at the end nothing is in the way any more", () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line) => void lines.push((JSON.parse(line) as { state: string }).state) });
  let trouble: Trouble | undefined;
  const destination = new DestinationState({ table: "p.d.t", log, trouble: () => trouble });
  destination.note();
  destination.begin();
  destination.note();
  destination.note();
  trouble = { state: "UNAVAILABLE", reason: "no answer" };
  destination.note();
  destination.note();
  expect([destination.state, destination.reason]).toEqual(["UNAVAILABLE", "p.d.t: no answer; Millrace keeps trying"]);
  trouble = { state: "NOT_FOUND", reason: "no table" };
  expect(destination.reason).toBe("p.d.t: no table");
  destination.note();
  destination.phase = "DRAINING";
  destination.begin();
  destination.note();
  expect([destination.state, destination.reason]).toEqual(["DRAINING", ""]);
  expect(lines).toEqual(["ACTIVE", "UNAVAILABLE", "NOT_FOUND"]);
});
