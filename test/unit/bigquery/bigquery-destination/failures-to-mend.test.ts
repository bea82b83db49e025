/** The destination: failures that someone has to mend. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { TableUnavailable } from "../../../../src/bigquery/tables.ts";
import { DestinationRig, durable, fates, tableOf, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test.each([
  [status.PERMISSION_DENIED, "PERMISSION_DENIED", /bigquery\.tables\.updateData/],
  [status.NOT_FOUND, "NOT_FOUND", /does not exist/],
  [status.RESOURCE_EXHAUSTED, "THROTTLED", /quota/],
] as const)("status %i holds everything as %s, and ends by itself", async (code, state, reason) => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 20 } });
  rig.service.react = () => ({ error: { code, message: "words of the server" } });
  const delivered = rig.deliver(to, ["a", "b", "c"]);
  await rig.clock.advance(5000);
  expect(to.state).toBe(state);
  expect(to.stateReason).toMatch(reason);
  expect(to.stateReason).toContain("p.d.t");
  expect(to.stateReason).not.toContain("words of the server");
  // Two at first, then a probe after 1 s and after 2 s more; the next one is due at 7 s.
  expect(rig.service.requests.length).toBe(4);
  rig.service.react = () => stored;
  await rig.clock.advance(2000);
  expect(fates(delivered)).toEqual(durable(3));
  expect(to.state).toBe("ACTIVE");
});

test("quota: the pause between tries grows up to ten minutes", async () => {
  const to = await rig.opened();
  const times: number[] = [];
  rig.service.react = () => {
    times.push(rig.clock.monotonic());
    return { error: { code: status.RESOURCE_EXHAUSTED, message: "AppendRows throughput" } };
  };
  rig.deliver(to, ["a"]);
  await rig.clock.advance(3_600_000);
  const pauses = times.slice(1).map((time, i) => (time - times[i]!) / 1000);
  expect(pauses.slice(0, 12)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
});

test("open waits for a table that is missing, and for one that cannot be mapped", async () => {
  rig.table = new TableUnavailable({ state: "NOT_FOUND", reason: "no such table" });
  const to = rig.destination();
  let open = false;
  void to.open(new AbortController().signal).then(() => {
    open = true;
  });
  expect(to.state).toBe("STARTING");
  await rig.clock.advance(1);
  expect(to.state).toBe("NOT_FOUND");
  expect(to.stateReason).toBe("p.d.t: no such table");
  rig.table = tableOf("unmappable");
  await rig.clock.advance(1000);
  expect(to.state).toBe("SCHEMA_MISMATCH");
  expect(to.stateReason).toContain("no such type");
  expect(open).toBe(false);
  rig.table = tableOf("a");
  await rig.clock.advance(60_000);
  expect(open).toBe(true);
  expect(to.state).toBe("ACTIVE");
});

test("an aborted open resolves", async () => {
  rig.table = new TableUnavailable({ state: "NOT_FOUND", reason: "no such table" });
  const to = rig.destination();
  const stop = new AbortController();
  const open = to.open(stop.signal);
  await rig.clock.advance(10);
  stop.abort();
  await open;
  await to.close();
  expect(to.state).toBe("STOPPED");
  expect(rig.clock.pending).toBe(0);
});
