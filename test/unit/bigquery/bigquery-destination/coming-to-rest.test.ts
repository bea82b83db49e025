/** The destination: coming to rest. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { TableUnavailable } from "../../../../src/bigquery/tables.ts";
import { DestinationRig, fates, names, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test("drain sends what is waiting without delay and resolves when everything is in", async () => {
  const to = await rig.opened();
  const delivered = rig.deliver(to, ["a"]);
  const drained = to.drain(rig.clock.monotonic() + 30_000);
  await rig.clock.advance(0);
  expect(to.state).toBe("DRAINING");
  expect(rig.last().rows).toEqual(["a"]);
  rig.last().answer();
  await drained;
  expect(fates(delivered)).toEqual(["durable"]);
  await to.close();
  expect(rig.clock.pending).toBe(0);
});

test("at the deadline what has no fate is abandoned, wherever it is", async () => {
  const to = await rig.opened({
    batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 },
    append: { maxInFlight: 1, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 },
  });
  await rig.clock.advance(10_000);
  rig.table = new TableUnavailable({ state: "UNAVAILABLE", reason: "down" });
  const delivered = [
    rig.deliver(to, ["a0", "a1"]), // answered
    rig.deliver(to, ["b0", "field note", "b2", "bad"]), // in flight, held for the table, waiting
    rig.deliver(to, names(9)), // filling and not looked at
  ];
  await rig.clock.advance(0);
  rig.service.requests[0]!.answer();
  const drained = to.drain(rig.clock.monotonic() + 5000);
  await rig.clock.advance(4999);
  expect(fates(delivered[0]!)).toEqual(["durable", "durable"]);
  expect(fates(delivered[1]!)).toBeUndefined();
  await rig.clock.advance(1);
  await drained;
  expect(fates(delivered[1]!)).toEqual(["abandoned", "abandoned", "abandoned", "TYPE_MISMATCH"]);
  expect(fates(delivered[2]!)).toEqual(Array.from({ length: 9 }, () => "abandoned"));
  await to.close();
  expect(rig.clock.pending).toBe(0);
});

test("closed while a request waits for a look at the table, it sends nothing more and keeps no timer", async () => {
  const to = await rig.opened();
  await rig.clock.advance(10_000);
  rig.table = new TableUnavailable({ state: "UNAVAILABLE", reason: "down" });
  const delivered = rig.deliver(to, ["a", "field note"]);
  await rig.clock.advance(20);
  rig.last().answer({ error: { code: status.INVALID_ARGUMENT, message: "extra", storageError: 7 } });
  await rig.clock.advance(5000);
  await to.close();
  await rig.clock.advance(600_000);
  expect(fates(delivered)).toEqual(["abandoned", "abandoned"]);
  expect(rig.service.requests).toHaveLength(1);
  expect([to.state, to.stateReason, rig.clock.pending]).toEqual(["STOPPED", "", 0]);
});

test("aborting a delivery abandons its messages, and rows of it that were not sent never are", async () => {
  const to = await rig.opened();
  const stop = new AbortController();
  const kept = rig.deliver(to, ["k0"]);
  const given = to.deliver(rig.batchOf(["g0", "g1"]), stop.signal);
  const alsoKept = rig.deliver(to, ["k1"]);
  stop.abort();
  expect(fates({ outcomes: await given })).toEqual(["abandoned", "abandoned"]);
  rig.service.react = () => stored;
  await rig.clock.advance(20);
  expect(rig.service.rows).toEqual(["k0", "k1"]);
  expect([fates(kept), fates(alsoKept)]).toEqual([["durable"], ["durable"]]);
  const late = await to.deliver(rig.batchOf(["l"]), stop.signal);
  expect(late.at(0).kind).toBe("abandoned");
});
