import { describe, expect, test } from "vitest";
import { DeduplicatedSource } from "../../../src/dedupe/deduplicated-source.ts";
import { IdMemory } from "../../../src/dedupe/id-memory.ts";
import { Fates, type MessageBatch } from "../../../src/message.ts";
import { PulledBatch } from "../../../src/source/pulled-batch.ts";
import type { Source } from "../../../src/source/source.ts";
import { encodeResponse } from "../../support/fake-subscriber.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A subscription that hands out batches and notes how they are settled: per message `ID ack` or `ID nack MS`. */
class FakeSource implements Source {
  readonly state = "ACTIVE";
  readonly stateReason = "";
  readonly settled: string[] = [];
  readonly #arrived: readonly MessageBatch[];

  constructor(batches: readonly MessageBatch[]) {
    this.#arrived = batches;
  }

  async open(): Promise<void> {}

  async *batches(): AsyncIterable<MessageBatch> {
    for (const batch of this.#arrived) yield batch;
  }

  async settle(batch: MessageBatch, fates: Fates): Promise<void> {
    const told = Array.from({ length: batch.length }, (_, i) => {
      const fate = fates.at(i);
      return `${batch.messageId(i)} ${fate.kind === "ack" ? "ack" : `nack ${fate.afterMs}`}`;
    });
    this.settled.push(told.join(", "));
  }

  async close(): Promise<void> {
    this.settled.push("closed");
  }
}

/** A batch of messages with these ids; the payload of each is its id and place. */
function batchOf(...ids: string[]): MessageBatch {
  const messages = ids.map((id, i) => ({ ackId: `${id}-${i}`, data: `${id}@${i}`, messageId: id }));
  return PulledBatch.parse(encodeResponse(messages));
}

interface Stage {
  readonly inner: FakeSource;
  readonly source: DeduplicatedSource;
  readonly clock: VirtualClock;
  /** What was handed on, batch by batch. */
  readonly handedOn: readonly MessageBatch[];
  readonly skipped: number[];
}

/** Takes all batches, before any of them is settled. */
async function pull(...batches: readonly MessageBatch[]): Promise<Stage> {
  const inner = new FakeSource(batches);
  const clock = new VirtualClock();
  const skipped: number[] = [];
  const memory = new IdMemory({ windowMs: 600_000, maxIds: 1000, maxUnderWay: 1000 });
  const source = new DeduplicatedSource(inner, memory, clock, { skipped: (messages) => skipped.push(messages) });
  const handedOn: MessageBatch[] = [];
  for await (const batch of source.batches(new AbortController().signal)) handedOn.push(batch);
  return { inner, source, clock, handedOn, skipped };
}

const payloads = (batch: MessageBatch): string[] =>
  Array.from({ length: batch.length }, (_, i) => batch.bytes.toString("utf8", batch.dataStart(i), batch.dataEnd(i)));

/** Every message is acked but some, given back after a pause. */
function fatesOf(batch: MessageBatch, nacks: Readonly<Record<number, number>> = {}): Fates {
  const fates = new Fates(batch.length);
  for (const [i, afterMs] of Object.entries(nacks)) fates.nack(Number(i), afterMs);
  return fates;
}

test("a batch without duplicates is handed on as it is, and settled as it was told", async () => {
  const batch = batchOf("1", "2", "3");
  const { inner, source, handedOn, skipped } = await pull(batch);
  expect(handedOn[0]).toBe(batch);
  await source.settle(batch, fatesOf(batch, { 1: 10_000 }));
  expect(inner.settled).toEqual(["1 ack, 2 nack 10000, 3 ack"]);
  expect(skipped).toEqual([]);
});

describe("a message that was settled", () => {
  test("is acked without being handed on again, and its neighbours keep their fates", async () => {
    const first = batchOf("1", "2");
    const clock = new VirtualClock();
    const skipped: number[] = [];
    const memory = new IdMemory({ windowMs: 600_000, maxIds: 1000, maxUnderWay: 1000 });
    const again = batchOf("3", "1", "4", "2", "5");
    const inner = new FakeSource([first, again]);
    const source = new DeduplicatedSource(inner, memory, clock, { skipped: (messages) => skipped.push(messages) });
    const handed: MessageBatch[] = [];
    for await (const batch of source.batches(new AbortController().signal)) {
      handed.push(batch);
      await source.settle(batch, fatesOf(batch, handed.length === 1 ? { 1: 0 } : { 1: 7 }));
    }
    // Message 2 was given back, so it is new again.
    expect(handed.map(payloads)).toEqual([
      ["1@0", "2@1"],
      ["3@0", "4@2", "2@3", "5@4"],
    ]);
    expect(inner.settled).toEqual(["1 ack, 2 nack 0", "3 ack, 1 ack, 4 nack 7, 2 ack, 5 ack"]);
    expect(skipped).toEqual([1]);
  });
});

describe("a message whose first copy is under way", () => {
  test("waits for it, and is acked with it; the other messages of its batch go on", async () => {
    const { inner, source, handedOn, skipped } = await pull(batchOf("1", "2"), batchOf("2", "3"));
    expect(payloads(handedOn[1]!)).toEqual(["3@1"]);
    const second = source.settle(handedOn[1]!, fatesOf(handedOn[1]!));
    await Promise.resolve();
    expect(inner.settled).toEqual([]);
    await source.settle(handedOn[0]!, fatesOf(handedOn[0]!));
    await second;
    expect(inner.settled).toEqual(["1 ack, 2 ack", "2 ack, 3 ack"]);
    expect(skipped).toEqual([1]);
  });

  test("is given back with it, after the same pause, and is new when it comes again", async () => {
    const { inner, source, handedOn, skipped } = await pull(batchOf("1"), batchOf("1", "2"));
    const second = source.settle(handedOn[1]!, fatesOf(handedOn[1]!));
    await source.settle(handedOn[0]!, fatesOf(handedOn[0]!, { 0: 20_000 }));
    await second;
    expect(inner.settled).toEqual(["1 nack 20000", "1 nack 20000, 2 ack"]);
    expect(skipped).toEqual([]);
  });

  test("may be of the same batch, and may come several times", async () => {
    const { inner, source, handedOn, skipped } = await pull(batchOf("1", "2", "1", "1"), batchOf("1"));
    expect(handedOn.map(payloads)).toEqual([["1@0", "2@1"], []]);
    await source.settle(handedOn[0]!, fatesOf(handedOn[0]!, { 1: 5 }));
    await source.settle(handedOn[1]!, fatesOf(handedOn[1]!));
    expect(inner.settled).toEqual(["1 ack, 2 nack 5, 1 ack, 1 ack", "1 ack"]);
    expect(skipped).toEqual([2, 1]);
  });

  test("is given back when the end comes before its fate, and its neighbours are acked", async () => {
    const { inner, source, handedOn } = await pull(batchOf("1"), batchOf("1", "2"));
    const second = source.settle(handedOn[1]!, fatesOf(handedOn[1]!));
    await source.close();
    await second;
    expect(inner.settled).toEqual(["1 nack 0, 2 ack", "closed"]);
  });
});

test("many batches that wait for each other in a row are settled in their order", async () => {
  const batches = Array.from({ length: 50 }, (_, i) => batchOf(String(i), String(i + 1)));
  const { inner, source, handedOn } = await pull(...batches);
  // Each waits for the one before: settled from the last to the first.
  const settled = handedOn.toReversed().map((batch) => source.settle(batch, fatesOf(batch)));
  await Promise.all(settled);
  expect(inner.settled).toHaveLength(50);
  expect(inner.settled[0]).toBe("0 ack, 1 ack");
});

test("a batch that it did not hand on is refused", async () => {
  const { source } = await pull();
  await expect(source.settle(batchOf("1"), new Fates(1))).rejects.toThrow("does not come from this source");
});
