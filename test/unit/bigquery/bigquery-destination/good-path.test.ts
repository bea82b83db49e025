/** The destination: the good path. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { DestinationRig, durable, fates, names, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test("rows of several deliveries share a request, which goes when the delay is over", async () => {
  const to = await rig.opened();
  const first = rig.deliver(to, ["a", "b"], 500);
  await rig.clock.advance(12);
  const second = rig.deliver(to, ["c"]);
  await rig.clock.advance(7);
  expect(rig.service.requests).toHaveLength(0);
  await rig.clock.advance(1);
  expect(rig.service.requests).toHaveLength(1);
  expect(rig.last()).toMatchObject({
    writeStream: "projects/p/datasets/d/tables/t/streams/_default",
    schema: "row_a",
    rows: ["a", "b", "c"],
  });
  expect(rig.last().traceId).toMatch(/^millrace:\d/);
  expect(fates(first)).toBeUndefined();
  await rig.clock.advance(30);
  rig.last().answer();
  await rig.clock.advance(0);
  expect(fates(first)).toEqual(["durable", "durable"]);
  expect(fates(second)).toEqual(["durable"]);
  expect(rig.events).toEqual(["appended 3", "committed 2 after 0.550", "committed 1 after 0.038"]);
});

test("a full request goes at once; trace and schema travel until an answer shows that they are known, the stream's name always", async () => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 3, maxDelayMs: 20 } });
  const delivered = rig.deliver(to, names(7));
  await rig.clock.advance(0);
  expect(rig.service.requests.map(({ rows }) => rows)).toEqual([names(3), ["r3", "r4", "r5"]]);
  expect(rig.service.requests[1]).toMatchObject({ call: 0, schema: "row_a" });
  for (const request of rig.service.requests) request.answer();
  await rig.clock.advance(20);
  const writeStream = "projects/p/datasets/d/tables/t/streams/_default";
  expect(rig.last()).toMatchObject({ call: 0, writeStream, traceId: "", schema: "", rows: ["r6"] });
  rig.last().answer();
  await rig.clock.advance(0);
  expect(fates(delivered)).toEqual(durable(7));
});

test("with too much in flight later batches wait, and their rows are grouped meanwhile", async () => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 4, maxDelayMs: 20 } });
  const delivered = [rig.deliver(to, names(8)), rig.deliver(to, names(4, "s")), rig.deliver(to, names(9, "t"))];
  await rig.clock.advance(1000);
  // Two in flight, one that waits for room; the next one is full, and nothing more is transcoded.
  expect(rig.service.requests).toHaveLength(2);
  rig.service.react = () => stored;
  for (const request of rig.service.requests) request.answer();
  await rig.clock.advance(20);
  expect(delivered.map(fates)).toEqual([durable(8), durable(4), durable(9)]);
  expect(rig.service.rows).toEqual([...names(8), ...names(4, "s"), ...names(9, "t")]);
});

test("a server that refuses the first request forgets what it said: it is said again", async () => {
  const to = await rig.opened();
  const delivered = rig.deliver(to, ["a", "b"]);
  await rig.clock.advance(20);
  rig.last().answer({ error: { code: status.INVALID_ARGUMENT, message: "AppendRows request too large" } });
  await rig.clock.advance(0);
  expect(rig.service.requests.slice(1).map(({ schema, traceId }) => [schema, traceId])).toEqual([
    ["row_a", rig.service.requests[0]!.traceId],
    ["row_a", rig.service.requests[0]!.traceId],
  ]);
  for (const request of rig.service.requests.slice(1)) request.answer();
  await rig.clock.advance(0);
  expect(fates(delivered)).toEqual(durable(2));
});

test("buffers are used again after the answer", async () => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
  rig.service.react = () => stored;
  for (let round = 0; round < 50; round++) {
    const delivered = rig.deliver(to, [`x${round}`, `y${round}`]);
    await rig.clock.advance(0);
    expect(fates(delivered)).toEqual(durable(2));
    expect(rig.last().rows).toEqual([`x${round}`, `y${round}`]);
  }
  expect(rig.service.calls).toBe(1);
});

test("an empty batch is done at once", async () => {
  const to = await rig.opened();
  const outcomes = await to.deliver(rig.batchOf([]), new AbortController().signal);
  expect(outcomes.length).toBe(0);
});

test("requests under way have a share of the memory: beyond it one goes at a time, whatever its size", async () => {
  // Ten bytes are less than one row counted twice.
  const to = await rig.opened({
    maxRowBytes: 10,
    batch: { maxBytes: 1, maxRows: 1, maxDelayMs: 0 },
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 1000 },
  });
  const delivered = rig.deliver(to, ["first", "second", "third"]);
  await rig.clock.advance(1000);
  const sent: string[][] = [];
  for (let i = 0; i < 3; i++) {
    sent.push(rig.service.requests.flatMap(({ rows }) => rows));
    rig.last().answer();
    await rig.clock.advance(1);
  }
  expect(sent).toEqual([["first"], ["first", "second"], ["first", "second", "third"]]);
  expect(fates(delivered)).toEqual(["durable", "durable", "durable"]);
});
