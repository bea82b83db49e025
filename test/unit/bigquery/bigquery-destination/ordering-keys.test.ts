/** The destination: rows of one ordering key are stored in their order, whatever fails on the way. */
import { status } from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import type { BigQueryDestination } from "../../../../src/bigquery/bigquery-destination.ts";
import {
  type Delivered,
  deliverBatch,
  DestinationRig,
  durable,
  fates,
  tableOf,
  watchRejections,
} from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";
import { KeyedBatch } from "../../../support/keyed-batch.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

/** Messages written as `KEY:PAYLOAD`; the key may be empty. The whole text is the message's ID. */
function keyed(texts: readonly string[]): KeyedBatch {
  const messages = texts.map((text) => {
    const [key, payload] = text.split(":") as [string, string];
    return { key, payload, id: text };
  });
  return new KeyedBatch(messages, {
    messageId: "",
    publishTimeMicros: BigInt(rig.clock.now()) * 1000n,
    attributes: new Map(),
    orderingKey: "",
  });
}

const deliver = (to: BigQueryDestination, ...texts: string[]): Delivered => deliverBatch(to, keyed(texts));
async function fateOf(to: BigQueryDestination, text: string): Promise<string[] | undefined> {
  const delivered = deliver(to, text);
  await rig.clock.advance(20);
  return fates(delivered);
}
const requests = (): string[] => rig.service.requests.map(({ rows }) => rows.join(" "));
const invalid = { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } };
/** Each request on a connection of its own, so that answers may come in any order. */
const wide = { maxInFlight: 8, minConnections: 9, maxConnections: 9, maxRequestBytes: 9 << 20 };

describe("while nothing fails", () => {
  test("rows of a key share a request; later ones wait for its answer, rows of other keys and without a key do not", async () => {
    const to = await rig.opened({ append: wide });
    const first = deliver(to, "a:a1", "b:b1", "a:a2");
    await rig.clock.advance(20);
    const second = deliver(to, "a:a3", "c:c1", ":x", "b:b2", "a:a4");
    await rig.clock.advance(20);
    expect(requests()).toEqual(["a1 b1 a2", "c1 x"]);
    rig.service.requests[1]!.answer();
    await rig.clock.advance(20);
    expect(fates(second)).toBeUndefined();
    rig.service.requests[0]!.answer();
    await rig.clock.advance(20);
    expect(fates(first)).toEqual(durable(3));
    expect(requests()).toEqual(["a1 b1 a2", "c1 x", "b2 a3 a4"]);
    rig.last().answer();
    await rig.clock.advance(0);
    expect(fates(second)).toEqual(durable(5));
  });

  test("what waits for many keys goes out in as many requests as there is room for, each key in one of them", async () => {
    const to = await rig.opened({ append: wide, batch: { maxBytes: 1 << 20, maxRows: 4, maxDelayMs: 20 } });
    const texts = (round: number): string[] => ["a", "b", "c", "d"].map((key) => `${key}:${key}${round}`);
    deliver(to, ...texts(0));
    for (const round of [1, 2, 3]) deliver(to, ...texts(round));
    await rig.clock.advance(0);
    expect(requests()).toEqual(["a0 b0 c0 d0"]);
    rig.last().answer();
    await rig.clock.advance(20);
    expect(requests().slice(1)).toEqual(["a1 a2 a3 b1", "c1 c2 c3 d1"]);
    rig.service.react = () => stored;
    for (const request of rig.service.requests.slice(1)) request.answer();
    await rig.clock.advance(40);
    expect(requests().slice(3)).toEqual(["b2 b3 d2 d3"]);
  });
});

describe("a request comes back", () => {
  test("refused for one row: the others of its key go again, and what comes later still waits", async () => {
    const to = await rig.opened({ append: wide });
    const delivered = deliver(to, "a:a1", "a:a2", "b:b1", "a:a3");
    await rig.clock.advance(20);
    const later = deliver(to, "a:a4", "b:b2");
    rig.last().answer({ ...invalid, rowErrors: [{ index: 1, message: "no" }] });
    await rig.clock.advance(20);
    expect(requests()).toEqual(["a1 a2 b1 a3", "a1 b1 a3"]);
    rig.last().answer();
    await rig.clock.advance(20);
    expect(requests()[2]).toBe("b2 a4");
    rig.last().answer();
    await rig.clock.advance(0);
    expect([fates(delivered), fates(later)]).toEqual([["durable", "ROW_REJECTED", "durable", "durable"], durable(2)]);
  });

  test("to be sent again after a pause: its keys wait, others pass it", async () => {
    const to = await rig.opened({ append: wide });
    deliver(to, "a:a1");
    await rig.clock.advance(20);
    rig.last().answer({ error: { code: status.ABORTED } });
    rig.service.react = () => stored;
    deliver(to, "a:a2", "b:b1");
    await rig.clock.advance(200);
    expect(requests()).toEqual(["a1", "b1", "a1", "a2"]);
  });

  test("halves of a request hold whole keys; of a single key, the second half waits for the first", async () => {
    const to = await rig.opened({ append: wide });
    const delivered = deliver(to, "a:a1", "b:b1", "a:a2", "b:b2", "a:a3", "b:b3");
    await rig.clock.advance(20);
    rig.last().answer(invalid);
    await rig.clock.advance(2000);
    expect(requests().slice(1)).toEqual(["a1 a2 a3", "b1 b2 b3"]);
    rig.service.requests[1]!.answer(invalid);
    await rig.clock.advance(0);
    expect(requests().slice(3)).toEqual(["a1"]);
    rig.service.requests[2]!.answer();
    deliver(to, "a:a4");
    await rig.clock.advance(20);
    expect(requests().slice(3)).toEqual(["a1"]);
    rig.last().answer();
    await rig.clock.advance(0);
    expect(requests().slice(4)).toEqual(["a2 a3"]);
    rig.last().answer(invalid);
    await rig.clock.advance(0);
    expect(requests().slice(5)).toEqual(["a2"]);
    rig.last().answer(invalid);
    await rig.clock.advance(0);
    expect(fates(delivered)).toBeUndefined();
    expect(requests().slice(6)).toEqual(["a3"]);
    rig.last().answer();
    await rig.clock.advance(20);
    expect(requests().slice(7)).toEqual(["a4"]);
    expect(fates(delivered)).toEqual(["durable", "durable", "ROW_REJECTED", "durable", "durable", "durable"]);
  });

  test("too large: the same", async () => {
    const to = await rig.opened({ append: wide });
    rig.service.react = ({ rows }) =>
      rows.length > 1 ? { error: { code: status.INVALID_ARGUMENT, message: "request too large" } } : stored;
    const delivered = deliver(to, "a:a1", "a:a2", "a:a3", "a:a4", "a:a5");
    await rig.clock.advance(50);
    expect(fates(delivered)).toEqual(durable(5));
    const single = rig.service.requests.filter(({ rows }) => rows.length === 1);
    expect(single.flatMap(({ rows }) => rows)).toEqual(["a1", "a2", "a3", "a4", "a5"]);
  });

  test("over the schema, in parts: they are written anew as soon as the gate opens, though nothing is left of the parts", async () => {
    const to = await rig.opened({ schemaRefreshIntervalMs: 86_400_000 });
    const tooLarge = { error: { code: status.INVALID_ARGUMENT, message: "request too large" } };
    rig.service.react = (request) => {
      if (request.rows.length > 1 && request.schema === "row_a") return tooLarge;
      if (request.schema !== "row_a") return stored;
      rig.table = tableOf("b");
      queueMicrotask(() => request.end({ code: status.INVALID_ARGUMENT, message: "schema mismatch" }));
      return undefined;
    };
    // The table may be looked at again at once, so that the rows are given up before the gate opens.
    await rig.clock.advance(3000);
    const delivered = deliver(to, "a:a1", "a:a2");
    await rig.clock.advance(10_000);
    expect(fates(delivered)).toEqual(durable(2));
    expect(rig.last()).toMatchObject({ schema: "row_b", rows: ["a1", "a2"] });
  });

  test("over a lost connection, with several: it is written again before what comes later in its keys", async () => {
    const to = await rig.opened({ append: { ...wide, maxInFlight: 1, minConnections: 3, maxConnections: 3 } });
    deliver(to, "a:a1");
    await rig.clock.advance(20);
    deliver(to, "a:a2", "b:b1");
    await rig.clock.advance(20);
    rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
    rig.service.react = () => stored;
    await rig.clock.advance(500);
    expect(requests()).toEqual(["a1", "b1", "a1", "a2"]);
  });

  test("its rows are transcoded again: they come before what waits, those of later parts too", async () => {
    rig.table = tableOf("a", "note");
    const to = await rig.opened({ append: wide });
    await rig.clock.advance(10_000);
    deliver(to, "a:a1", "b:b1", "a:a2", "a:a3");
    await rig.clock.advance(20);
    rig.last().answer(invalid);
    await rig.clock.advance(2000);
    rig.service.requests[1]!.answer(invalid);
    await rig.clock.advance(2000);
    // a1 is out alone, a2 and a3 wait behind it; now the column goes.
    expect(requests().slice(1)).toEqual(["a1 a2 a3", "b1", "a1"]);
    deliver(to, "a:a4");
    rig.table = tableOf("a");
    rig.last().answer({ error: { code: status.INVALID_ARGUMENT, message: "extra", storageError: 7 } });
    await rig.clock.advance(3000);
    expect(rig.last()).toMatchObject({ schema: "row_a", rows: ["a1", "a2", "a3", "a4"] });
    expect(requests()).toHaveLength(5);
  });
});

describe("a message waits for a look at the table", () => {
  test("with it what comes behind it in its key; other keys go on", async () => {
    const to = await rig.opened({ append: wide });
    rig.service.react = () => stored;
    await rig.clock.advance(1000);
    rig.table = tableOf("a", "note");
    deliver(to, "a:a1", "a:field note", "a:a3", "b:b1");
    deliver(to, "a:a4");
    await rig.clock.advance(100);
    expect(requests()).toEqual(["a1 b1"]);
    await rig.clock.advance(2000);
    expect(requests()).toEqual(["a1 b1", "field note a3 a4"]);
  });

  test("refused in the end, it does not stall its key", async () => {
    const to = await rig.opened({ append: wide });
    rig.service.react = () => stored;
    await rig.clock.advance(10_000);
    const delivered = deliver(to, "a:a1", "a:field nonsense", "a:a3", "a:field nonsense", "a:a5");
    await rig.clock.advance(5000);
    expect(fates(delivered)).toEqual(["durable", "UNKNOWN_FIELD", "durable", "UNKNOWN_FIELD", "durable"]);
    expect(rig.service.rows).toEqual(["a1", "a3", "a5"]);
  });
});

describe("messages are given back", () => {
  test("a message behind an abandoned one of its key is not written afterwards, wherever it is", async () => {
    const to = await rig.opened({ append: wide });
    const stop = new AbortController();
    const kept = deliver(to, "a:a1", "b:b1");
    await rig.clock.advance(20);
    const given = deliverBatch(to, keyed(["a:a2", "c:c1"]), stop.signal);
    const behind = deliver(to, "a:a3", "b:b2", "c:c2", "d:d1");
    // a2, a3 and b2 wait for the answer; c1, c2 and d1 are rows that wait for others.
    stop.abort();
    rig.service.react = () => stored;
    rig.last().answer();
    const later = deliver(to, "a:a4");
    await rig.clock.advance(100);
    expect([kept, given, behind, later].map(fates)).toEqual([
      durable(2),
      ["abandoned", "abandoned"],
      ["abandoned", "durable", "abandoned", "durable"],
      ["abandoned"],
    ]);
    expect(rig.service.rows).toEqual(["a1", "b1", "d1", "b2"]);
    const again = deliver(to, "a:a2", "a:a3", "a:a4");
    await rig.clock.advance(100);
    expect(fates(again)).toEqual(durable(3));
  });

  test("a request that comes back without an abandoned row is without what comes behind it in its key too", async () => {
    const to = await rig.opened({ append: wide });
    const stop = new AbortController();
    const given = deliverBatch(to, keyed(["a:a1", "b:b1"]), stop.signal);
    const behind = deliver(to, "c:c1", "a:a2", "c:c2");
    await rig.clock.advance(20);
    stop.abort();
    rig.service.react = () => stored;
    rig.last().answer({ error: { code: status.ABORTED } });
    await rig.clock.advance(200);
    expect(requests()).toEqual(["a1 b1 c1 a2 c2", "c1 c2"]);
    expect([given, behind].map(fates)).toEqual([
      ["abandoned", "abandoned"],
      ["durable", "abandoned", "durable"],
    ]);
  });

  test("everything is given back at the end of a drain, however a key is tied up", async () => {
    const to = await rig.opened({ append: wide });
    await rig.clock.advance(10_000);
    rig.table = new Error("down");
    const delivered = deliver(to, "a:a1", "a:field note", "a:a3", "b:b1", "c:bad", "c:c1", ":x");
    await rig.clock.advance(20);
    const later = deliver(to, "b:b2", "c:c2", "d:d1", "a:a4");
    const drained = to.drain(rig.clock.monotonic() + 1000);
    await rig.clock.advance(1000);
    await drained;
    const gone = (count: number): string[] => Array.from({ length: count }, () => "abandoned");
    expect(fates(delivered)).toEqual([...gone(4), "TYPE_MISMATCH", ...gone(2)]);
    expect(fates(later)).toEqual(gone(4));
    await to.close();
    expect(rig.clock.pending).toBe(0);
  });
});

describe("without a dead-letter topic", () => {
  const holding = { append: wide, refusedHoldsKey: true };

  test("a message that cannot be transcoded is given back with everything behind it; other keys go on", async () => {
    const to = await rig.opened(holding);
    rig.service.react = () => stored;
    const first = deliver(to, "a:a1", "a:bad", "a:a3", "b:b1");
    const second = deliver(to, "a:a4", "b:b2");
    await rig.clock.advance(20);
    expect(fates(first)).toEqual(["durable", "TYPE_MISMATCH", "abandoned", "durable"]);
    expect(fates(second)).toEqual(["abandoned", "durable"]);
    expect(rig.service.rows).toEqual(["a1", "b1", "b2"]);
    // What was under way when the source heard of it comes too early; the message itself opens its key again.
    const early = deliver(to, "a:a5");
    await rig.clock.advance(20);
    expect(fates(early)).toEqual(["abandoned"]);
    const again = deliver(to, "a:bad", "a:a3");
    await rig.clock.advance(20);
    expect(fates(again)).toEqual(["TYPE_MISMATCH", "abandoned"]);
    // The publisher has purged it: after a moment the key goes on.
    await rig.clock.advance(2000);
    const after = deliver(to, "a:a3", "a:a4", "a:a5");
    await rig.clock.advance(20);
    expect(fates(after)).toEqual(durable(3));
  });

  test("so is one that BigQuery refuses, from the request and from what waits; earlier rows are written", async () => {
    const to = await rig.opened(holding);
    const first = deliver(to, "a:a1", "b:b1", "a:a2", "b:b2", "a:a3");
    await rig.clock.advance(20);
    const second = deliver(to, "a:a4", "b:b3");
    rig.last().answer({ ...invalid, rowErrors: [{ index: 2, message: "no" }] });
    rig.service.react = () => stored;
    await rig.clock.advance(0);
    rig.service.requests[1]?.answer();
    await rig.clock.advance(50);
    expect(requests()).toEqual(["a1 b1 a2 b2 a3", "a1 b1 b2", "b3"]);
    expect(fates(first)).toEqual(["durable", "durable", "ROW_REJECTED", "durable", "abandoned"]);
    expect(fates(second)).toEqual(["abandoned", "durable"]);
  });

  test("what came before the source heard of it is given back, however long it waits for room", async () => {
    const to = await rig.opened({
      refusedHoldsKey: true,
      append: { ...wide, maxInFlight: 1, minConnections: 1, maxConnections: 1 },
      batch: { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 20 },
    });
    deliver(to, "a:poison");
    deliver(to, ":x", ":y", ":z");
    const waiting = deliver(to, "a:a2");
    rig.last().answer({ ...invalid, rowErrors: [{ index: 0, message: "no" }] });
    await rig.clock.advance(10_000);
    expect(requests()).toEqual(["poison", "x"]);
    rig.service.react = () => stored;
    rig.last().answer();
    await rig.clock.advance(20);
    expect(fates(waiting)).toEqual(["abandoned"]);
    const again = deliver(to, "a:a2");
    await rig.clock.advance(20);
    expect(fates(again)).toEqual(durable(1));
  });

  test("a message that was delivered alone, and does not come again, does not keep its key back for ever", async () => {
    const to = await rig.opened(holding);
    rig.service.react = () => stored;
    expect(await fateOf(to, "a:bad")).toEqual(["TYPE_MISMATCH"]);
    expect(await fateOf(to, "a:a2")).toEqual(["abandoned"]);
    await rig.clock.advance(2000);
    expect(await fateOf(to, "a:a2")).toEqual(["durable"]);
  });

  test("and one that BigQuery refuses without naming it", async () => {
    const to = await rig.opened(holding);
    const appended: string[] = [];
    rig.service.react = ({ rows }) => {
      if (rows.includes("poison")) return invalid;
      appended.push(...rows);
      return stored;
    };
    const delivered = deliver(to, "a:a1", "a:a2", "a:poison", "a:a4", "b:b1", "a:a5");
    await rig.clock.advance(3000);
    expect(fates(delivered)).toEqual(["durable", "durable", "ROW_REJECTED", "abandoned", "durable", "abandoned"]);
    expect(appended.filter((row) => row !== "b1")).toEqual(["a1", "a2"]);
  });
});
