import { beforeEach, expect, test } from "vitest";
import { type Hold, SendGate } from "../../../src/bigquery/send-gate.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const denied: Hold = {
  state: "PERMISSION_DENIED",
  reason: "denied",
  backoff: { initialMs: 100, maxMs: 1000 },
  patience: 0,
};
const unavailable: Hold = { ...denied, state: "UNAVAILABLE", patience: 2 };

let clock: VirtualClock;
let gate: SendGate;

beforeEach(() => {
  clock = new VirtualClock();
  gate = new SendGate(clock, () => 1);
});

test("an open gate lets everything through", () => {
  expect(gate.waitMs).toBe(0);
  expect(gate.shown).toBeUndefined();
});

test("after the pause one request goes as a probe; its success opens the gate", async () => {
  gate.shut(denied, gate.sent());
  expect(gate.waitMs).toBe(100);
  await clock.advance(60);
  expect(gate.waitMs).toBe(40);
  await clock.advance(40);
  expect(gate.waitMs).toBe(0);
  const probe = gate.sent();
  expect(gate.waitMs).toBe(Infinity);
  gate.passed(probe);
  expect(gate.waitMs).toBe(0);
  expect(gate.shown).toBeUndefined();
});

test("the pause doubles with every probe that fails, up to its limit", async () => {
  let ticket = gate.sent();
  const pauses: number[] = [];
  for (let i = 0; i < 6; i++) {
    gate.shut(denied, ticket);
    pauses.push(gate.waitMs);
    await clock.advance(gate.waitMs);
    ticket = gate.sent();
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000]);
});

test("requests that were under way when it was shut neither open it nor count again", async () => {
  const [first, second, third] = [gate.sent(), gate.sent(), gate.sent()];
  gate.shut(denied, first);
  gate.shut(denied, second);
  gate.passed(third);
  expect(gate.waitMs).toBe(100);
  await clock.advance(100);
  const probe = gate.sent();
  gate.shut(denied, third);
  gate.passed(third);
  expect(gate.waitMs).toBe(Infinity);
  gate.shut(denied, probe);
  expect(gate.waitMs).toBe(200);
});

test("a state is shown when failures in a row are more than patience bears", async () => {
  let ticket = gate.sent();
  const shown: (string | undefined)[] = [];
  for (let i = 0; i < 4; i++) {
    gate.shut(unavailable, ticket);
    shown.push(gate.shown?.state);
    await clock.advance(1000);
    ticket = gate.sent();
  }
  expect(shown).toEqual([undefined, undefined, "UNAVAILABLE", "UNAVAILABLE"]);
});

test("a failure of another kind starts counting anew", async () => {
  gate.shut(denied, gate.sent());
  await clock.advance(100);
  gate.shut({ ...denied, state: "THROTTLED" }, gate.sent());
  expect(gate.waitMs).toBe(100);
  expect(gate.shown?.state).toBe("THROTTLED");
});
