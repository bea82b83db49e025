import { expect, test } from "vitest";
import { Arrivals } from "../../../src/source/arrivals.ts";

test("items come in order, those that are there and those that are waited for", async () => {
  const arrivals = new Arrivals<number>();
  arrivals.push(1);
  arrivals.push(2);
  expect([await arrivals.next(), await arrivals.next()]).toEqual([1, 2]);
  const third = arrivals.next();
  arrivals.push(3);
  expect(await third).toBe(3);
});

test("the end reaches a reader that waits, and comes before what is still there", async () => {
  const arrivals = new Arrivals<number>();
  const waiting = arrivals.next();
  arrivals.end();
  arrivals.push(4);
  arrivals.push(5);
  expect([await waiting, await arrivals.next()]).toEqual([undefined, undefined]);
  expect(arrivals.takeRest()).toEqual([4, 5]);
  expect(arrivals.takeRest()).toEqual([]);
});
