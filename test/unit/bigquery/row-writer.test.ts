import { expect, test } from "vitest";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { HeldMessages } from "../../../src/bigquery/held-messages.ts";
import { KeyLanes } from "../../../src/bigquery/key-lanes.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { RowWriter } from "../../../src/bigquery/row-writer.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { KeyedBatch } from "../../support/keyed-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const nothing = (): void => undefined;

test("of a key of which all is given back nothing is kept", async () => {
  const clock = new VirtualClock(0);
  const lanes = new KeyLanes(clock);
  const writer = new RowWriter({
    lanes,
    held: new HeldMessages({ refresh: () => Promise.resolve(), lookedAt: nothing }),
    observer: { refused: nothing },
    refusedHoldsKey: true,
    sawTableAfter: () => true,
    failed: nothing,
  });
  const delivered = (id: string): Delivery =>
    new Delivery(new KeyedBatch([{ key: "k", payload: id, id }]), new AbortController().signal, nothing);
  lanes.failAll(delivered("first"), 0, 1);
  const second = delivered("second");
  const rows = new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1000 });
  const pending = new PendingRows(rows, new FakeTranscoder(), nothing);
  expect(writer.takeSpan({ delivery: second, next: 0, to: 1, final: false, sinceMs: 0 }, pending)).toBe(true);
  expect((await second.outcomes).at(0)).toEqual({ kind: "abandoned" });
  expect(lanes.size).toBe(0);
});
