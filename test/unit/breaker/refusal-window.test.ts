import { describe, expect, test } from "vitest";
import { RefusalWindow } from "../../../src/breaker/refusal-window.ts";
import type { RefusalCode } from "../../../src/errors.ts";
import { Outcomes } from "../../../src/message.ts";

/** Outcomes of `messages` messages, of which the first are refused for these reasons. */
function outcomes(messages: number, ...codes: readonly RefusalCode[]): Outcomes {
  const all = new Outcomes(messages);
  for (const [i, code] of codes.entries()) {
    all.set(i, { kind: "refused", refusal: { code, path: "", message: "", stage: "transcode" } });
  }
  return all;
}

describe("the share", () => {
  test("is that of the refused among those with a fate", () => {
    const window = new RefusalWindow(100);
    const mixed = outcomes(10, "TYPE_MISMATCH", "UNKNOWN_FIELD", "UNKNOWN_FIELD");
    mixed.set(8, { kind: "skipped" });
    mixed.set(9, { kind: "abandoned" });
    window.add(mixed);
    expect(window).toMatchObject({ full: false, messages: 9, refused: 3, share: 3 / 9 });
    expect(window.codes).toEqual([
      ["UNKNOWN_FIELD", 2],
      ["TYPE_MISMATCH", 1],
    ]);
  });

  test("of no message is nothing", () => {
    expect(new RefusalWindow(100)).toMatchObject({ full: false, messages: 0, share: 0, codes: [] });
  });
});

describe("the window", () => {
  test("is full with as many messages as it is long, and then forgets the oldest", () => {
    const window = new RefusalWindow(100);
    for (let k = 0; k < 49; k++) window.add(outcomes(1, "OUT_OF_RANGE"));
    for (let k = 0; k < 50; k++) window.add(outcomes(1));
    expect(window.full).toBe(false);
    window.add(outcomes(1));
    expect(window).toMatchObject({ full: true, messages: 100, refused: 49 });
    for (let k = 0; k < 10; k++) window.add(outcomes(1));
    expect(window).toMatchObject({ full: true, messages: 100, refused: 39 });
    for (let k = 0; k < 39; k++) window.add(outcomes(1));
    expect(window).toMatchObject({ refused: 0, codes: [] });
  });

  test("of a million small batches takes a hundred buckets, and is at most a hundredth too long", () => {
    const window = new RefusalWindow(10_000);
    for (let k = 0; k < 60_000; k++) {
      window.add(k % 4 === 0 ? outcomes(1, "OUT_OF_RANGE") : outcomes(1));
    }
    expect(window.messages).toBeGreaterThanOrEqual(10_000);
    expect(window.messages).toBeLessThanOrEqual(10_100);
    expect(window.share).toBe(0.25);
  });

  test("keeps one batch that is larger than it", () => {
    const window = new RefusalWindow(10);
    window.add(outcomes(5, "OUT_OF_RANGE"));
    window.add(outcomes(1000));
    expect(window).toMatchObject({ full: true, messages: 1000, refused: 0 });
  });

  test("can be cleared", () => {
    const window = new RefusalWindow(10);
    window.add(outcomes(10, "OUT_OF_RANGE"));
    window.clear();
    expect(window).toMatchObject({ full: false, messages: 0, refused: 0 });
    window.add(outcomes(4, "OUT_OF_RANGE"));
    expect(window).toMatchObject({ messages: 4, refused: 1 });
  });
});
