/**
 * The destination: BigQuery refuses a row and does not name it, and all that could show what is wrong waits behind that
 * row in its ordering key.
 */
import { status } from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import type { BigQueryDestinationOptions } from "../../../../src/bigquery/bigquery-destination.ts";
import { deliverBatch, DestinationRig, durable, fates, watchRejections } from "../../../support/destination-rig.ts";
import type { FakeAnswer, SentRequest } from "../../../support/fake-append-service.ts";
import { isPending } from "../../../support/fake-write-streams.ts";
import { KeyedBatch } from "../../../support/keyed-batch.ts";
import type { Envelope } from "../../../support/payload-batch.ts";
import { propertySeed } from "../../../support/property-seed.ts";
import { choicesOf } from "../../../support/random-choices.ts";

let rig: DestinationRig;
let table: string[];
/** Whether BigQuery takes a row, now and on this stream. */
let takes: (row: string, isTrial: boolean) => boolean;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
  table = [];
  takes = (row) => !row.startsWith("poison");
  rig.service.react = react;
});

const invalid = { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } };

function react(request: SentRequest): FakeAnswer {
  const isTrial = isPending(request.openedTo);
  const refusal = request.rows.every((row) => takes(row, isTrial)) ? undefined : invalid;
  const answer = request.offset === undefined ? (refusal ?? {}) : rig.writeStreams.append(request, refusal);
  if (!answer.error && !isTrial) table.push(...request.rows);
  return answer;
}

/** Rows of one key. */
function keyed(payloads: readonly string[], key = "k"): KeyedBatch {
  const messages = payloads.map((payload) => ({ key, payload, id: payload }));
  return new KeyedBatch(messages, envelope());
}

const envelope = (): Envelope => ({
  messageId: "",
  publishTimeMicros: BigInt(rig.clock.now()) * 1000n,
  attributes: new Map(),
  orderingKey: "",
});

const oneRow = { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 20 };

const ways: [string, Partial<BigQueryDestinationOptions>][] = [
  ["in one batch, at least once", {}],
  ["in one batch, exactly once", { delivery: "exactlyOnce" }],
  ["each in a batch of its own, at least once", { batch: oneRow }],
  ["each in a batch of its own, exactly once", { batch: oneRow, delivery: "exactlyOnce" }],
];

describe.each(ways)("%s", (_, options) => {
  test("a bad row does not stall the good one behind it", async () => {
    const to = await rig.opened(options);
    const delivered = deliverBatch(to, keyed(["poison", "good"]));
    await rig.clock.advance(5000);
    expect(fates(delivered)).toEqual(["ROW_REJECTED", "durable"]);
    expect(table).toEqual(["good"]);
    expect(to.state).toBe("ACTIVE");
    await to.close();
    expect(rig.clock.pending).toBe(0);
  });

  test("nor do forty of them, and more behind", async () => {
    const choose = choicesOf(propertySeed);
    rig.random = () => choose(0, 999) / 1000;
    const to = await rig.opened(options);
    const payloads = [...Array.from({ length: 40 }, (_, i) => `poison ${i}`), "good", "poison last"];
    const delivered = deliverBatch(to, keyed(payloads));
    await rig.clock.advance(600_000);
    expect(fates(delivered), `PROPERTY_SEED=${propertySeed}`).toEqual([
      ...payloads.slice(0, 40).map(() => "ROW_REJECTED"),
      "durable",
      "ROW_REJECTED",
    ]);
    expect(table).toEqual(["good"]);
  });

  test("a row that BigQuery refuses for a while, as it does all others, is written in its turn", async () => {
    takes = () => false;
    const to = await rig.opened(options);
    const delivered = deliverBatch(to, keyed(["a", "b", "c"]));
    await rig.clock.advance(100_000);
    expect(fates(delivered)).toBeUndefined();
    expect(to.state).toBe("SCHEMA_MISMATCH");
    takes = () => true;
    await rig.clock.advance(20_000);
    expect(fates(delivered)).toEqual(durable(3));
    expect(table).toEqual(["a", "b", "c"]);
  });

  test("nobody is blamed where appends fail that trials let through", async () => {
    takes = (_row, isTrial) => isTrial;
    const to = await rig.opened(options);
    const delivered = deliverBatch(to, keyed(["a", "b", "c"]));
    await rig.clock.advance(100_000);
    expect(fates(delivered)).toBeUndefined();
    takes = () => true;
    await rig.clock.advance(20_000);
    expect(table).toEqual(["a", "b", "c"]);
  });
});

test("two keys, each with a bad row first", async () => {
  const to = await rig.opened();
  const delivered = [keyed(["poison 1", "a", "b"]), keyed(["poison 2", "c"], "other")].map((batch) =>
    deliverBatch(to, batch),
  );
  await rig.clock.advance(5000);
  expect(delivered.map(fates)).toEqual([
    ["ROW_REJECTED", "durable", "durable"],
    ["ROW_REJECTED", "durable"],
  ]);
  expect(table.filter((row) => row !== "c")).toEqual(["a", "b"]);
});

test("without a dead-letter topic, what was delivered with the bad row may be all that could show what it is", async () => {
  const to = await rig.opened({ refusedHoldsKey: true });
  const first = { key: "other", payload: "bad", id: "bad" };
  const second = { key: "other", payload: "good", id: "good" };
  const mixed = [first, second, { key: "k", payload: "poison", id: "poison" }];
  const delivered = deliverBatch(to, new KeyedBatch(mixed, envelope()));
  await rig.clock.advance(5000);
  expect(fates(delivered)).toEqual(["TYPE_MISMATCH", "abandoned", "ROW_REJECTED"]);
  expect(table).toEqual([]);
});

test("without a dead-letter topic the key is given back from the bad row on", async () => {
  const to = await rig.opened({ refusedHoldsKey: true });
  const delivered = deliverBatch(to, keyed(["poison", "good"]));
  await rig.clock.advance(5000);
  expect(fates(delivered)).toEqual(["ROW_REJECTED", "abandoned"]);
  expect(table).toEqual([]);
});

test("a bad row with nothing behind it waits: nothing can show what it is", async () => {
  const to = await rig.opened();
  const delivered = deliverBatch(to, keyed(["poison"]));
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toBeUndefined();
  expect(rig.writeStreams.trials).toBe(0);
});

test("a pending stream that BigQuery has forgotten is followed by another", async () => {
  const to = await rig.opened();
  const gone = { error: { code: status.NOT_FOUND, message: "no such stream", storageError: 3 } };
  rig.service.react = (request) => (request.openedTo.endsWith("pending0") ? gone : react(request));
  const delivered = deliverBatch(to, keyed(["poison", "good"]));
  await rig.clock.advance(10_000);
  expect(fates(delivered)).toEqual(["ROW_REJECTED", "durable"]);
  expect(rig.writeStreams.trials).toBe(2);
});

test("a trial without an answer is given up, and another comes with another stream; an end amidst one leaves nothing behind", async () => {
  const to = await rig.opened();
  rig.service.react = (request) => (isPending(request.openedTo) ? undefined : react(request));
  const delivered = deliverBatch(to, keyed(["poison", "good"]));
  await rig.clock.advance(30_000);
  expect(rig.writeStreams.trials).toBe(2);
  expect(fates(delivered)).toBeUndefined();
  await to.close();
  await rig.clock.advance(0);
  expect(fates(delivered)).toEqual(["abandoned", "abandoned"]);
  expect(rig.clock.pending).toBe(0);
});
