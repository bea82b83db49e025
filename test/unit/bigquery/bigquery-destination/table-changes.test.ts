/** The destination: the table changes. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { TableUnavailable } from "../../../../src/bigquery/tables.ts";
import { DestinationRig, durable, fates, names, tableOf, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test("a message with an unknown field is held, the table looked at, and the message written", async () => {
  const to = await rig.opened();
  rig.service.react = () => stored;
  await rig.clock.advance(10_000);
  rig.table = tableOf("a", "note");
  const delivered = rig.deliver(to, ["x", "field note", "field nonsense"]);
  await rig.clock.advance(100);
  expect(fates(delivered)).toEqual(["durable", "durable", "UNKNOWN_FIELD"]);
  expect(rig.service.requests.map(({ schema, rows }) => [schema, rows])).toEqual([
    ["row_a", ["x"]],
    ["row_a_note", ["field note"]],
  ]);
  // The descriptor changed on the same connection, where BigQuery has every later request name its stream.
  expect(rig.last()).toMatchObject({ call: 0, writeStream: "projects/p/datasets/d/tables/t/streams/_default" });
  rig.deliver(to, ["later"]);
  await rig.clock.advance(20);
  expect(rig.last()).toMatchObject({ schema: "", writeStream: "projects/p/datasets/d/tables/t/streams/_default" });
  expect(rig.fetches).toBe(2);
});

test("a stream of unknown fields does not hammer tables.get", async () => {
  const to = await rig.opened();
  rig.service.react = () => stored;
  for (let i = 0; i < 1000; i++) {
    rig.deliver(to, ["field nonsense", "x"]);
    await rig.clock.advance(10);
  }
  // Ten seconds, one look every two seconds at most.
  expect(rig.fetches).toBeGreaterThanOrEqual(4);
  expect(rig.fetches).toBeLessThanOrEqual(6);
});

test("of a backlog, unknown fields are refused at once when the table was seen a moment ago", async () => {
  const to = await rig.opened();
  await rig.clock.advance(1000);
  const delivered = rig.deliver(to, ["field nonsense"], 60_000);
  await rig.clock.advance(0);
  expect(fates(delivered)).toEqual(["UNKNOWN_FIELD"]);
  expect(rig.fetches).toBe(1);
});

test("as long as the table cannot be looked at, unknown fields are held, not refused", async () => {
  const to = await rig.opened();
  await rig.clock.advance(10_000);
  rig.table = new TableUnavailable({ state: "UNAVAILABLE", reason: "HTTP status 503" });
  const delivered = rig.deliver(to, ["field note"]);
  await rig.clock.advance(300_000);
  expect(fates(delivered)).toBeUndefined();
  expect(to.state).toBe("UNAVAILABLE");
  expect(to.stateReason).toBe("p.d.t: HTTP status 503; Millrace keeps trying");
  rig.table = tableOf("a", "note");
  rig.service.react = () => stored;
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toEqual(["durable"]);
  expect(to.state).toBe("ACTIVE");
});

test("updated_schema in an answer has the table looked at; so does the schedule", async () => {
  const to = await rig.opened();
  await rig.clock.advance(10_000);
  rig.service.react = () => ({ updatedSchema: {} });
  rig.deliver(to, ["x"]);
  await rig.clock.advance(20);
  expect(rig.fetches).toBe(2);
  await rig.clock.advance(59_000);
  expect(rig.fetches).toBe(2);
  await rig.clock.advance(1000);
  expect(rig.fetches).toBe(3);
});

test("rows in flight and rows already written finish under the old descriptor", async () => {
  const to = await rig.opened();
  const before = rig.deliver(to, ["x"]);
  await rig.clock.advance(20);
  rig.table = tableOf("a", "note");
  const filling = rig.deliver(to, ["y"]);
  await rig.clock.advance(59_975);
  const later = rig.deliver(to, ["z"]);
  await rig.clock.advance(25);
  rig.service.react = () => stored;
  rig.last().answer();
  rig.service.requests[0]!.answer();
  await rig.clock.advance(100);
  expect([before, filling, later].map(fates)).toEqual([["durable"], ["durable"], ["durable"]]);
  expect(rig.service.rows).toEqual(["x", "y", "z"]);
});

test("BigQuery lags behind the table: rows with the new column wait and are written, with a state meanwhile", async () => {
  const to = await rig.opened();
  let knowsColumn = false;
  rig.service.react = ({ rows }) =>
    rows.some((row) => row.startsWith("field")) && !knowsColumn
      ? { error: { code: status.INVALID_ARGUMENT, message: "extra fields", storageError: 7 } }
      : stored;
  await rig.clock.advance(10_000);
  rig.table = tableOf("a", "note");
  const delivered = rig.deliver(to, ["field note"]);
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toBeUndefined();
  expect(to.state).toBe("SCHEMA_MISMATCH");
  knowsColumn = true;
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toEqual(["durable"]);
  expect(to.state).toBe("ACTIVE");
});

test("a column is dropped: the rows are transcoded again, and what no longer fits is refused", async () => {
  rig.table = tableOf("a", "note");
  const to = await rig.opened();
  await rig.clock.advance(10_000);
  rig.service.react = ({ schema }) =>
    schema === "row_a_note"
      ? { error: { code: status.INVALID_ARGUMENT, message: "Input schema has more fields than BigQuery schema" } }
      : stored;
  rig.table = tableOf("a");
  const delivered = rig.deliver(to, ["x", "field note", "bad", "y"]);
  await rig.clock.advance(10_000);
  expect(fates(delivered)).toEqual(["durable", "UNKNOWN_FIELD", "TYPE_MISMATCH", "durable"]);
  expect(rig.last()).toMatchObject({ schema: "row_a", rows: ["x", "y"] });
});

test("a connection that ends over its descriptor: the table is looked at and the rows are transcoded again", async () => {
  rig.table = tableOf("a", "note");
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 } });
  await rig.clock.advance(10_000);
  rig.table = tableOf("b");
  const delivered = rig.deliver(to, names(4));
  await rig.clock.advance(0);
  expect(rig.service.requests).toHaveLength(2);
  rig.last().end({
    code: status.INVALID_ARGUMENT,
    message: "The proto field mismatched with BigQuery field at row.a, the proto field type string",
  });
  rig.service.react = () => stored;
  await rig.clock.advance(5000);
  expect(fates(delivered)).toEqual(durable(4));
  expect(rig.service.requests.slice(2).map(({ schema }) => schema)).toEqual(["row_b", ""]);
});

test("after an idle connection was closed, a message that comes at once is written by the table as it is now", async () => {
  const to = await rig.opened();
  rig.service.react = () => stored;
  rig.deliver(to, ["a"]);
  await rig.clock.advance(610_000);
  rig.table = tableOf("a", "note");
  rig.service.requests[0]!.end({ code: status.ABORTED, message: "Stream closed: inactive for 600 seconds" });
  const delivered = rig.deliver(to, ["b"]);
  await rig.clock.advance(20);
  expect(fates(delivered)).toEqual(["durable"]);
  expect(rig.last()).toMatchObject({ call: 1, schema: "row_a_note", rows: ["b"] });
});

test("and if the table cannot be looked at, it waits a moment only", async () => {
  const to = await rig.opened();
  rig.service.react = () => stored;
  rig.deliver(to, ["a"]);
  await rig.clock.advance(610_000);
  rig.table = new TableUnavailable({ state: "UNAVAILABLE", reason: "down" });
  rig.service.requests[0]!.end({ code: status.ABORTED, message: "Stream closed: inactive for 600 seconds" });
  const delivered = rig.deliver(to, ["b"]);
  await rig.clock.advance(20);
  expect(fates(delivered)).toEqual(["durable"]);
  expect(to.state).toBe("ACTIVE");
});

test.each([
  ["cannot be mapped", tableOf("unmappable"), "SCHEMA_MISMATCH"],
  ["is gone", new TableUnavailable({ state: "NOT_FOUND", reason: "no such table" }), "NOT_FOUND"],
] as const)(
  "a table that %s holds everything, and goes on within ten seconds once it is mended",
  async (_, broken, state) => {
    const to = await rig.opened();
    rig.service.react = () =>
      rig.table === broken ? { error: { code: status.INVALID_ARGUMENT, message: "extra", storageError: 7 } } : stored;
    await rig.clock.advance(10_000);
    rig.table = broken;
    const delivered = rig.deliver(to, ["a", "b"]);
    await rig.clock.advance(300_000);
    const later = rig.deliver(to, ["c"]);
    await rig.clock.advance(1000);
    expect([fates(delivered), fates(later), to.state]).toEqual([undefined, undefined, state]);
    rig.table = tableOf("a");
    await rig.clock.advance(10_000);
    expect([fates(delivered), fates(later), to.state]).toEqual([["durable", "durable"], ["durable"], "ACTIVE"]);
  },
);

test.each([
  ["SCHEMA_MISMATCH", { code: status.INVALID_ARGUMENT, message: "extra", storageError: 7 }],
  ["NOT_FOUND", { code: status.NOT_FOUND, message: "Table is deleted", storageError: 1 }],
  ["PERMISSION_DENIED", { code: status.PERMISSION_DENIED, message: "no" }],
  ["UNAVAILABLE", { code: status.INTERNAL, message: "no" }],
] as const)("%s of appends: everything is held, and written within ten seconds of the mend", async (state, error) => {
  const to = await rig.opened({
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9e6 },
  });
  rig.service.react = () => ({ error });
  const delivered = Array.from({ length: 6 }, (_, i) => rig.deliver(to, names(1000, `${i}-`)));
  await rig.clock.advance(3_600_000);
  expect(to.state).toBe(state);
  expect(delivered.map(fates)).toEqual(delivered.map(() => undefined));
  const before = rig.service.requests.length;
  await rig.clock.advance(60_000);
  // Six requests each every five seconds at most.
  expect(rig.service.requests.length - before).toBeLessThanOrEqual((6 * 60) / 5 + 6);
  rig.service.react = () => stored;
  await rig.clock.advance(10_000);
  expect(delivered.map(fates)).toEqual(delivered.map(() => durable(1000)));
  expect(to.state).toBe("ACTIVE");
});

test.each(["atLeastOnce", "exactlyOnce"] as const)(
  "%s: a bad row is told from a changed table though all else that was delivered is stored already",
  async (delivery) => {
    const invalid = { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } };
    const to = await rig.opened({ delivery, batch: { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 20 } });
    rig.service.react = (request) => {
      const isBad = request.rows.includes("poison");
      if (isBad) rig.table = tableOf("a", "note");
      const refusal = isBad ? invalid : undefined;
      return request.offset === undefined ? (refusal ?? stored) : rig.writeStreams.append(request, refusal);
    };
    const delivered = rig.deliver(to, ["good", "poison", "good too"]);
    await rig.clock.advance(10_000);
    expect(fates(delivered)).toEqual(["durable", "ROW_REJECTED", "durable"]);
    await to.close();
  },
);
