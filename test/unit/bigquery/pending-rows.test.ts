import { expect, test } from "vitest";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";

const transcoder = new FakeTranscoder();

function delivery(...payloads: readonly string[]): Delivery {
  const batch = new PayloadBatch(payloads.map((payload) => Buffer.from(payload)));
  return new Delivery(batch, new AbortController().signal, () => undefined);
}

function add(pending: PendingRows, from: Delivery): void {
  pending.from(from);
  transcoder.transcode(from.batch, 0, from.batch.length, pending.rows);
}

test("each row is known to be of its delivery, also behind deliveries of which no row came", () => {
  const pending = new PendingRows(
    new RowBatch({ maxBytes: 10_000, maxRows: 100, maxRequestBytes: 20_000 }),
    transcoder,
    () => undefined,
  );
  const [one, bad, two, three] = [delivery("a", "b"), delivery("bad"), delivery("bad", "c"), delivery("d")];
  for (const each of [bad, one, bad, delivery("bad"), two, bad, three, bad]) add(pending, each);
  expect([0, 1, 2, 3].map((row) => pending.deliveryOf(row))).toEqual([one, one, two, three]);
  expect([0, 1, 2, 3].map((row) => pending.rows.messageOf(row))).toEqual([0, 1, 1, 0]);
});

test("messages that become no rows are not kept by the batch that waits for rows", () => {
  const pending = new PendingRows(
    new RowBatch({ maxBytes: 10_000, maxRows: 100, maxRequestBytes: 20_000 }),
    transcoder,
    () => undefined,
  );
  for (let i = 0; i < 1000; i++) add(pending, delivery("bad", "bad"));
  expect(pending.rows.rowCount).toBe(0);
  expect(pending.rows.origins).toHaveLength(1);
  const good = delivery("a");
  add(pending, good);
  pending.seal();
  expect(pending.deliveryOf(0)).toBe(good);
  expect(pending.rows.origins).toHaveLength(1);
});
