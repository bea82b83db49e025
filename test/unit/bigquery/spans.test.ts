import { expect, test } from "vitest";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { Spans } from "../../../src/bigquery/spans.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const deliveryOf = (messages: number): Delivery =>
  new Delivery(
    new PayloadBatch(Array.from({ length: messages }, () => Buffer.alloc(1))),
    new AbortController().signal,
    () => undefined,
  );

function taken(spans: Spans): (readonly [Delivery, number, number, boolean])[] {
  const all: (readonly [Delivery, number, number, boolean])[] = [];
  for (let span = spans.first; span; span = spans.first) {
    all.push([span.delivery, span.next, span.to, span.final]);
    spans.shift();
  }
  return all;
}

test("neighbours that come back make one span, in the order in which they come", () => {
  const spans = new Spans(new VirtualClock());
  const [a, b] = [deliveryOf(10), deliveryOf(10)];
  spans.add(a);
  for (const message of [3, 4, 5, 7]) spans.addAgain(b, message, false);
  spans.addAgain(b, 8, true);
  spans.addAgain(a, 9, true);
  expect(taken(spans)).toEqual([
    [a, 0, 10, false],
    [b, 3, 6, false],
    [b, 7, 8, false],
    [b, 8, 9, true],
    [a, 9, 10, true],
  ]);
});

test("a span that was taken, or that others stand behind, grows no more", () => {
  const spans = new Spans(new VirtualClock());
  const [a, b] = [deliveryOf(4), deliveryOf(2)];
  spans.addAgain(a, 0, false);
  expect(taken(spans)).toEqual([[a, 0, 1, false]]);
  spans.addAgain(a, 1, false);
  spans.add(b);
  spans.addAgain(a, 2, false);
  expect(taken(spans)).toEqual([
    [a, 1, 2, false],
    [b, 0, 2, false],
    [a, 2, 3, false],
  ]);
});

test("what was given up does not come back; removing takes the spans of some deliveries only", () => {
  const spans = new Spans(new VirtualClock());
  const [gone, a, b] = [deliveryOf(1), deliveryOf(2), deliveryOf(3)];
  gone.abandon(0);
  spans.addAgain(gone, 0, false);
  spans.add(a);
  spans.add(b);
  spans.addAgain(a, 1, true);
  expect(spans.remove((delivery) => delivery === a).map(({ next, to }) => [next, to])).toEqual([
    [0, 2],
    [1, 2],
  ]);
  expect(taken(spans)).toEqual([[b, 0, 3, false]]);
});
