import { beforeEach, describe, expect, test } from "vitest";
import { Pulse, WindowAge } from "../../../src/source/transit.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

describe("a response", () => {
  const windowBytes = 1600;

  test("for which the reader waited lay nowhere", () => {
    const age = new WindowAge(windowBytes, 0);
    age.read(0);
    expect(age.arrived(100, 5000)).toBe(0);
  });

  test("that lay ready may have been sent since the last time when nothing lay ready", () => {
    const age = new WindowAge(windowBytes, 0);
    age.read(0);
    age.arrived(100, 1000);
    age.read(3000);
    expect(age.arrived(100, 3001)).toBe(2001);
    age.read(4000);
    // Less than 50 ms of waiting proves nothing.
    expect(age.arrived(100, 4049)).toBe(3049);
    age.read(5000);
    expect(age.arrived(100, 5050)).toBe(0);
  });

  test("was not sent before there was room for it in the window", () => {
    const age = new WindowAge(windowBytes, 0);
    // 100 bytes a second, without a pause: 1,600 bytes lie 16 responses back.
    const ages = Array.from({ length: 40 }, (_, k) => {
      age.read(k * 1000);
      return age.arrived(100, k * 1000);
    });
    // From the 17th response on: as old as the one that made room, which came 16 before it.
    expect(ages.slice(20).every((ms) => ms >= 16_000 && ms <= 17_000)).toBe(true);
    expect(Math.max(...ages)).toBeLessThanOrEqual(17_000);
  });
});

describe("the pulse", () => {
  let clock = new VirtualClock();
  let pulse = new Pulse(clock);

  beforeEach(() => {
    clock = new VirtualClock();
    pulse = new Pulse(clock);
    pulse.start();
  });

  test("of a process that runs shows no lag, and leaves no timer when stopped", async () => {
    await clock.advance(10_500);
    expect(pulse.lagMs).toBe(0);
    pulse.stop();
    expect(clock.pending).toBe(0);
  });

  test("shows how long the process stood still, before its timer fires and for one beat after it", async () => {
    await clock.advance(10_000);
    clock.leap(7000);
    expect(pulse.lagMs).toBe(6000);
    await clock.advance(0);
    expect(pulse.lagMs).toBe(6000);
    await clock.advance(1000);
    expect(pulse.lagMs).toBe(0);
  });

  test("does not heed the machine's wall clock", async () => {
    clock.jump(3_600_000);
    await clock.advance(1500);
    clock.jump(-7_200_000);
    expect(pulse.lagMs).toBe(0);
  });
});
