import { expect, test } from "vitest";
import { Queue } from "../../../src/lib/queue.ts";

test("first in, first out, through growth and around the end of the ring", () => {
  const queue = new Queue<number>();
  const model: number[] = [];
  let next = 0;
  // Adds more than it takes, by turns, so that the ring grows while its head stands anywhere.
  for (let round = 0; round < 200; round++) {
    for (let i = 0; i < 1 + (round % 7); i++) {
      queue.push(next);
      model.push(next++);
    }
    for (let i = 0; i < round % 6; i++) expect(queue.shift()).toBe(model.shift());
    expect(queue.length).toBe(model.length);
    expect(queue.first).toBe(model[0]);
    expect([...queue]).toEqual(model);
  }
  expect(queue.takeAll()).toEqual(model);
  expect(queue.length).toBe(0);
  expect(queue.first).toBeUndefined();
  expect(queue.shift()).toBeUndefined();
  queue.push(1);
  expect([...queue]).toEqual([1]);
});
