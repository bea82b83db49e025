/** The destination: failures that pass. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { DestinationRig, durable, fates, names, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test("when the connection breaks, what has no answer goes again in order", async () => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
  const delivered = rig.deliver(to, names(6));
  await rig.clock.advance(0);
  rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
  await rig.clock.advance(99);
  expect(rig.service.requests).toHaveLength(2);
  await rig.clock.advance(1);
  // One request goes as a probe; the rest follows when it is answered.
  expect(rig.service.requests).toHaveLength(3);
  expect(rig.last()).toMatchObject({ call: 1, schema: "row_a", rows: ["r0", "r1"] });
  rig.service.react = () => stored;
  rig.last().answer();
  await rig.clock.advance(0);
  expect(rig.service.rows.slice(4)).toEqual(names(6));
  expect(fates(delivered)).toEqual(durable(6));
});

test("transient failures are retried for ever, with pauses that grow up to 5 s; then a state is shown", async () => {
  const to = await rig.opened();
  const times: number[] = [];
  rig.service.react = (request) => {
    times.push(rig.clock.monotonic());
    queueMicrotask(() => request.end({ code: status.UNAVAILABLE }));
    return undefined;
  };
  const delivered = rig.deliver(to, ["a"]);
  await rig.clock.advance(120_000);
  const pauses = times.slice(1).map((time, i) => time - times[i]!);
  expect(pauses.slice(0, 11)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000]);
  expect(to.state).toBe("UNAVAILABLE");
  expect(to.stateReason).toBe("p.d.t: BigQuery does not answer appends (127.0.0.1:1); Millrace keeps trying");
  rig.service.react = () => stored;
  await rig.clock.advance(30_000);
  expect(fates(delivered)).toEqual(["durable"]);
  expect(to.state).toBe("ACTIVE");
});

test("an idle connection that the server closes costs nothing: the next request opens another at once", async () => {
  const to = await rig.opened();
  rig.service.react = () => stored;
  const first = rig.deliver(to, ["a"]);
  await rig.clock.advance(20);
  await rig.clock.advance(610_000);
  rig.service.requests[0]!.end({ code: status.ABORTED, message: "Stream closed: inactive for 600 seconds" });
  await rig.clock.advance(1000);
  expect(to.state).toBe("ACTIVE");
  const second = rig.deliver(to, ["b"]);
  await rig.clock.advance(20);
  expect(rig.service.calls).toBe(2);
  expect([fates(first), fates(second)]).toEqual([["durable"], ["durable"]]);
  expect(rig.events.filter((event) => event.startsWith("retried"))).toEqual([]);
});

test("a request that an answer calls ABORTED goes again after a pause; others pass it", async () => {
  const to = await rig.opened();
  const slow = rig.deliver(to, ["slow"]);
  await rig.clock.advance(20);
  rig.last().answer({ error: { code: status.ABORTED, message: "try again" } });
  rig.service.react = () => stored;
  const other = rig.deliver(to, ["other"]);
  await rig.clock.advance(20);
  expect(fates(other)).toEqual(["durable"]);
  expect(fates(slow)).toBeUndefined();
  await rig.clock.advance(80);
  expect(fates(slow)).toEqual(["durable"]);
  expect(rig.service.rows).toEqual(["slow", "other", "slow"]);
});

test("a connection without an answer for five minutes is given up", async () => {
  const to = await rig.opened();
  const delivered = rig.deliver(to, ["a"]);
  await rig.clock.advance(20 + 299_999);
  expect(rig.service.calls).toBe(1);
  rig.service.react = () => stored;
  await rig.clock.advance(1 + 100);
  expect(rig.service.calls).toBe(2);
  expect(fates(delivered)).toEqual(["durable"]);
});

test("an answer that belongs to no request, or cannot be read, breaks the connection and loses nothing", async () => {
  const to = await rig.opened();
  const delivered = rig.deliver(to, ["a"]);
  await rig.clock.advance(20);
  const [request] = rig.service.requests;
  request!.answer();
  request!.answer();
  await rig.clock.advance(0);
  expect(fates(delivered)).toEqual(["durable"]);
  rig.service.react = () => stored;
  const next = rig.deliver(to, ["b"]);
  await rig.clock.advance(2200);
  expect(rig.service.calls).toBe(2);
  expect(fates(next)).toEqual(["durable"]);
});

test("a probe that ends its connection because it is too large opens the gate all the same", async () => {
  const to = await rig.opened();
  const delivered = rig.deliver(to, names(4));
  await rig.clock.advance(20);
  rig.last().end({ code: status.UNAVAILABLE });
  await rig.clock.advance(100);
  rig.service.react = () => stored;
  rig.service.requests[1]!.end({ code: status.RESOURCE_EXHAUSTED, message: "Received message larger than max" });
  await rig.clock.advance(1000);
  expect(fates(delivered)).toEqual(durable(4));
});
