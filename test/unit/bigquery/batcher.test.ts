import { beforeEach, expect, test } from "vitest";
import { Batcher } from "../../../src/bigquery/batcher.ts";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const transcoder = new FakeTranscoder();
const other = new FakeTranscoder(["a"]);
let clock: VirtualClock;
let batcher: Batcher;
let due: number[];
let discarded: number;

beforeEach(() => {
  clock = new VirtualClock();
  due = [];
  discarded = 0;
  batcher = new Batcher({
    maxDelayMs: 20,
    clock,
    create: (by) =>
      new PendingRows(new RowBatch({ maxBytes: 40, maxRows: 3, maxRequestBytes: 1000 }), by, () => discarded++),
    onDue: () => due.push(clock.monotonic()),
  });
});

function add(payload: string, by = transcoder): void {
  const pending = batcher.open(by)!;
  const batch = new PayloadBatch([Buffer.from(payload)]);
  pending.from(new Delivery(batch, new AbortController().signal, () => undefined));
  by.transcode(batch, 0, 1, pending.rows);
  batcher.added();
}

test("the delay runs from the first row", async () => {
  batcher.open(transcoder);
  batcher.added();
  await clock.advance(100);
  expect(due).toEqual([]);
  add("a");
  await clock.advance(15);
  add("b");
  expect(batcher.due).toBe(false);
  await clock.advance(5);
  expect(due).toEqual([120]);
  expect(batcher.due).toBe(true);
  const { pending, readyAtMs } = batcher.take();
  expect([pending.rows.rowCount, readyAtMs]).toEqual([2, 120]);
  expect(batcher.due).toBe(false);
  expect(clock.pending).toBe(0);
});

test("when its delay is over it still takes rows until it is taken", async () => {
  add("a");
  await clock.advance(20);
  add("b");
  expect(batcher.take().pending.rows.rowCount).toBe(2);
});

test("it is full by rows", () => {
  for (const payload of ["a", "b", "c"]) add(payload);
  expect(batcher.due).toBe(true);
  expect(batcher.open(transcoder)).toBeUndefined();
});

test("it is full by bytes", () => {
  add("x".repeat(36)); // 36 and two tags with lengths: 40
  expect(batcher.due).toBe(true);
});

test("rows of another descriptor do not mix: the batch is due, and the next one is theirs", () => {
  add("a");
  expect(batcher.open(other)).toBeUndefined();
  expect(batcher.due).toBe(true);
  expect(batcher.take().pending.transcoder).toBe(transcoder);
  expect(batcher.open(other)!.transcoder).toBe(other);
});

test("an empty batch makes way for another descriptor", () => {
  batcher.open(transcoder);
  expect(batcher.open(other)!.transcoder).toBe(other);
  expect(discarded).toBe(1);
});

test("closing stops the clock", () => {
  add("a");
  batcher.close();
  expect([clock.pending, discarded, batcher.filled]).toEqual([0, 1, false]);
});
