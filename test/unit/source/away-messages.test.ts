import { expect, test } from "vitest";
import { AwayMessages } from "../../../src/source/away-messages.ts";

test("half a window of messages that are away is told, once", () => {
  const away = new AwayMessages(20);
  expect(away.add(9, 10_000, 0)).toBe(false);
  expect(away.add(1, 10_000, 5000)).toBe(true);
  expect(away.add(9, 20_000, 6000)).toBe(false);
});

test("messages whose pause is over do not count", () => {
  const away = new AwayMessages(20);
  expect(away.add(9, 10_000, 0)).toBe(false);
  expect(away.add(9, 20_000, 10_000)).toBe(false);
  expect(away.add(1, 30_000, 10_001)).toBe(true);
});
