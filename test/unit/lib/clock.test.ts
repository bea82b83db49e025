import { describe, expect, test } from "vitest";
import { pause, systemClock } from "../../../src/lib/clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

describe("a pause", () => {
  test("ends when its time is over, and not before", async () => {
    const clock = new VirtualClock();
    let over = false;
    void pause(clock, 1000).then(() => (over = true));
    await clock.advance(999);
    expect(over).toBe(false);
    await clock.advance(1);
    expect(over).toBe(true);
  });

  test("ends at once when it is called off, and leaves no timer behind", async () => {
    const clock = new VirtualClock();
    const calledOff = new AbortController();
    const ended = pause(clock, 1000, calledOff.signal);
    expect(clock.pending).toBe(1);
    calledOff.abort();
    await ended;
    expect(clock.pending).toBe(0);
    await pause(clock, 1000, calledOff.signal);
    expect(clock.pending).toBe(0);
  });

  test("that ran out does not listen any more", async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();
    let listeners = 0;
    const counting = {
      aborted: false,
      addEventListener: (...args: Parameters<AbortSignal["addEventListener"]>) => {
        listeners++;
        signal.addEventListener(...args);
      },
      removeEventListener: (...args: Parameters<AbortSignal["removeEventListener"]>) => {
        listeners--;
        signal.removeEventListener(...args);
      },
    } as unknown as AbortSignal;
    const ended = pause(clock, 10, counting);
    expect(listeners).toBe(1);
    await clock.advance(10);
    await ended;
    expect(listeners).toBe(0);
  });
});

test("a delay beyond what setTimeout takes does not fire at once", async () => {
  let fired = false;
  const timer = systemClock.setTimer(() => (fired = true), 2 ** 40);
  await new Promise((resolve) => {
    systemClock.setTimer(() => resolve(undefined), 5);
  });
  timer.cancel();
  expect(fired).toBe(false);
});
