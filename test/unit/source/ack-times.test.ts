import { expect, test } from "vitest";
import { AckTimes } from "../../../src/source/ack-times.ts";

test("nothing known: zero", () => {
  expect(new AckTimes().percentile99()).toBe(0);
});

test("99 of 100 messages, by whole seconds rounded up", () => {
  const times = new AckTimes();
  times.record(300, 98);
  times.record(12_001, 1);
  times.record(40_000, 1);
  expect(times.percentile99()).toBe(13);
  times.record(40_000, 1);
  // Of 101 messages 99 are within 13 seconds: 98.02 %.
  expect(times.percentile99()).toBe(40);
});

test("the order in which times come does not matter", () => {
  const times = new AckTimes();
  times.record(90_000, 2);
  times.record(100, 197);
  times.record(5000, 1);
  // 198 of 200 is 99 %.
  expect(times.percentile99()).toBe(5);
});

test("longer than ten minutes counts as ten minutes, and time that runs backwards as none", () => {
  const times = new AckTimes();
  times.record(-5, 1);
  expect(times.percentile99()).toBe(0);
  times.record(7_200_000, 1);
  expect(times.percentile99()).toBe(600);
});

test("what is held counts with the time it has waited", () => {
  const times = new AckTimes();
  times.record(1000, 100);
  expect(times.percentile99([{ ageMs: 60_000, messages: 1 }])).toBe(1);
  expect(times.percentile99([{ ageMs: 60_000, messages: 2 }])).toBe(60);
  expect(times.percentile99()).toBe(1);
});

test("old days fade: a slow day weighs less than a later fast one of the same size", () => {
  const times = new AckTimes();
  times.record(300_000, 2 ** 20);
  for (let day = 0; day < 7; day++) times.record(1000, 2 ** 20);
  // The slow share is halved with every later 2^20 messages, and they with it: 1/2, then 1/3…; after seven it is below 1 %.
  expect(times.percentile99()).toBe(1);
});
