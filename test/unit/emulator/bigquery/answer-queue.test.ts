import { expect, test } from "vitest";
import { AnswerQueue } from "../../../../src/emulator/bigquery/answer-queue.ts";
import { VirtualClock } from "../../../support/virtual-clock.ts";

test("answers wait for those before them, and each until it is due", async () => {
  const clock = new VirtualClock();
  const queue = new AnswerQueue(clock);
  const given: [string, number][] = [];
  const give = (name: string) => () => {
    given.push([name, clock.monotonic()]);
    return true;
  };
  queue.add(give("at once"));
  queue.add(give("late"), 100);
  queue.add(give("behind late"));
  queue.add(give("as late"), 100);
  await clock.advance(40);
  queue.add(give("later"), 100);
  await clock.advance(200);
  expect(given).toEqual([
    ["at once", 0],
    ["late", 100],
    ["behind late", 100],
    ["as late", 100],
    ["later", 140],
  ]);
  queue.add(give("at once again"));
  expect(given.at(-1)).toEqual(["at once again", 240]);
});

test("nothing comes after an answer that ends the stream", async () => {
  const clock = new VirtualClock();
  const queue = new AnswerQueue(clock);
  const given: number[] = [];
  queue.add(() => given.push(1) > 0, 10);
  queue.add(() => given.push(2) < 0);
  queue.add(() => given.push(3) > 0);
  await clock.advance(10);
  expect(given).toEqual([1, 2]);
  expect(queue.isOpen).toBe(false);
});
