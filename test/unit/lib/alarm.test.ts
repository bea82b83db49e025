import { beforeEach, describe, expect, test } from "vitest";
import { Alarm } from "../../../src/lib/alarm.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

let clock: VirtualClock;
let rung: number[];
let alarm: Alarm;

beforeEach(() => {
  clock = new VirtualClock();
  rung = [];
  alarm = new Alarm(clock, () => rung.push(clock.monotonic()));
});

describe("an alarm", () => {
  test("rings once, at the earliest moment it was set to, with one timer", async () => {
    alarm.setAt(300);
    alarm.setAt(100);
    alarm.setAt(200);
    expect([alarm.atMs, clock.pending]).toEqual([100, 1]);
    await clock.advance(1000);
    expect(rung).toEqual([100]);
    expect([alarm.atMs, clock.pending]).toEqual([Infinity, 0]);
  });

  test("can be set again when it has rung, by what it calls too", async () => {
    alarm = new Alarm(clock, () => {
      rung.push(clock.monotonic());
      if (rung.length < 3) alarm.setAt(clock.monotonic() + 50);
    });
    alarm.setAt(10);
    await clock.advance(1000);
    expect(rung).toEqual([10, 60, 110]);
  });

  test("rings at once when the moment has passed", async () => {
    await clock.advance(500);
    alarm.setAt(-Infinity);
    await clock.advance(0);
    expect(rung).toEqual([500]);
  });

  test("does not ring when it is cancelled, and not for Infinity", async () => {
    alarm.setAt(Infinity);
    expect(clock.pending).toBe(0);
    alarm.setAt(100);
    alarm.cancel();
    expect([alarm.atMs, clock.pending]).toEqual([Infinity, 0]);
    await clock.advance(1000);
    expect(rung).toEqual([]);
    alarm.setAt(2000);
    await clock.advance(1000);
    expect(rung).toEqual([2000]);
  });
});
