import { status } from "@grpc/grpc-js";
import pino from "pino";
import { expect, test } from "vitest";
import { pullFailure } from "../../../src/source/pull-failure.ts";
import { PullHealth } from "../../../src/source/pull-health.ts";

const subscription = "projects/acme/subscriptions/orders";
const unavailable = pullFailure(status.UNAVAILABLE, "gone", subscription);
const missing = pullFailure(status.NOT_FOUND, "", subscription);
const exhausted = pullFailure(status.RESOURCE_EXHAUSTED, "quota", subscription);

function open(): { health: PullHealth; log: { state: string; reason?: string }[] } {
  const log: { state: string; reason?: string }[] = [];
  const sink = { write: (line: string) => log.push(JSON.parse(line) as { state: string }) };
  return { health: new PullHealth(subscription, pino({ level: "info" }, sink)), log };
}

test("is well while one stream is accepted", () => {
  const { health } = open();
  expect(health.state).toBe("STARTING");
  expect(health.streamAnswers(0)).toBe(true);
  expect(health.streamAnswers(0)).toBe(false);
  expect(health.streamAnswers(1)).toBe(true);
  expect(health.streamEnded(0, missing, 1)).toBe(true);
  expect(health.state).toBe("ACTIVE");
  expect(health.streamEnded(1, missing, 1)).toBe(true);
  expect(health.state).toBe("NOT_FOUND");
  expect(health.streamEnded(1, missing, 2)).toBe(false);
  health.streamAnswers(1);
  expect([health.state, health.reason]).toEqual(["ACTIVE", ""]);
});

test("the ordinary end of a stream is no news, the third failure in a row is", () => {
  const { health, log } = open();
  health.streamAnswers(0);
  health.streamEnded(0, unavailable, 1);
  health.streamEnded(0, unavailable, 2);
  expect(health.state).toBe("ACTIVE");
  health.streamEnded(0, unavailable, 3);
  health.streamEnded(0, unavailable, 4);
  expect(health.state).toBe("UNAVAILABLE");
  health.streamEnded(0, exhausted, 5);
  expect(log.map(({ state, reason }) => [state, reason])).toEqual([
    ["ACTIVE", undefined],
    ["UNAVAILABLE", unavailable.reason],
    ["THROTTLED", exhausted.reason],
  ]);
});

test("a state is told once; why it lasts is kept up to date", () => {
  const { health, log } = open();
  const later = pullFailure(status.UNAVAILABLE, "gone for 2.001 s", subscription);
  health.streamEnded(0, unavailable, 3);
  health.streamEnded(0, later, 4);
  expect(health.reason).toBe(later.reason);
  expect(log.map(({ reason }) => reason)).toEqual([unavailable.reason]);
});

test("on the way out the streams do not matter any more", () => {
  const { health } = open();
  health.leave("DRAINING");
  health.streamAnswers(0);
  health.streamEnded(0, missing, 9);
  expect(health.state).toBe("DRAINING");
  health.leave("STOPPED");
  health.leave("DRAINING");
  expect(health.state).toBe("STOPPED");
});
