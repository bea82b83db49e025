/** The destination: bad rows. */
import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { DestinationRig, durable, fates, names, watchRejections } from "../../../support/destination-rig.ts";
import { stored } from "../../../support/fake-append-service.ts";
import { isPending } from "../../../support/fake-write-streams.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
});

test("what the transcoder refuses costs its neighbours nothing and waits for nothing", async () => {
  const to = await rig.opened();
  const allBad = rig.deliver(to, ["bad", "bad"]);
  const mixed = rig.deliver(to, ["a", "bad", "b"]);
  await rig.clock.advance(0);
  expect(fates(allBad)).toEqual(["TYPE_MISMATCH", "TYPE_MISMATCH"]);
  rig.service.react = () => stored;
  await rig.clock.advance(20);
  expect(fates(mixed)).toEqual(["durable", "TYPE_MISMATCH", "durable"]);
  expect(rig.last().rows).toEqual(["a", "b"]);
  expect(rig.events).toContain("refused TYPE_MISMATCH 2");
});

test("rows that BigQuery names are taken out, the others go again until all are in or refused", async () => {
  const to = await rig.opened();
  const delivered = [rig.deliver(to, names(3)), rig.deliver(to, names(3, "s"))];
  await rig.clock.advance(20);
  rig.last().answer({
    error: { code: status.INVALID_ARGUMENT, message: "Errors found while processing rows" },
    rowErrors: [
      { index: 1, message: "Field a: STRING(2) has maximum length 2 but got a value with length 9 on field a." },
      { index: 4, message: "bad value secret" },
    ],
  });
  await rig.clock.advance(0);
  expect(rig.last().rows).toEqual(["r0", "r2", "s0", "s2"]);
  // The server's list need not have been complete.
  rig.last().answer({
    error: { code: status.INVALID_ARGUMENT },
    rowErrors: [{ index: 3, message: "another" }],
  });
  await rig.clock.advance(0);
  expect(rig.last().rows).toEqual(["r0", "r2", "s0"]);
  rig.last().answer();
  await rig.clock.advance(0);
  expect(delivered.map(fates)).toEqual([
    ["durable", "ROW_REJECTED", "durable"],
    ["durable", "ROW_REJECTED", "ROW_REJECTED"],
  ]);
  const named = delivered[0]!.outcomes!.at(1);
  expect(named).toMatchObject({ refusal: { path: "a", stage: "append" } });
  const unnamed = delivered[1]!.outcomes!.at(1);
  const refusal = { path: "", message: "BigQuery refused the row", serverMessage: "bad value secret" };
  expect(unnamed).toMatchObject({ refusal });
});

test("a row that is refused without a name is found by halving", async () => {
  const to = await rig.opened({
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9e6 },
  });
  rig.service.react = ({ rows }) =>
    rows.includes("r70") || rows.includes("r3")
      ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } }
      : stored;
  const delivered = rig.deliver(to, names(100));
  await rig.clock.advance(20_000);
  const expected = durable(100);
  expected[70] = expected[3] = "ROW_REJECTED";
  expect(fates(delivered)).toEqual(expected);
  // Two rows, each found in at most ⌈log2 100⌉ = 7 halvings of two requests.
  expect(rig.service.requests.length).toBeLessThanOrEqual(1 + 2 * 7 * 2);
});

test("rows refused without a name wait until another row shows that it is they", async () => {
  const to = await rig.opened();
  rig.service.react = ({ rows }) =>
    rows.some((row) => row.startsWith("r"))
      ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } }
      : stored;
  const delivered = rig.deliver(to, names(12));
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toBeUndefined();
  const other = rig.deliver(to, ["good"]);
  await rig.clock.advance(30_000);
  expect(fates(other)).toEqual(["durable"]);
  expect(fates(delivered)).toEqual(Array.from({ length: 12 }, () => "ROW_REJECTED"));
  expect(to.state).toBe("ACTIVE");
});

test("when everything is refused without a name, nothing is thrown away; it goes on by itself", async () => {
  const to = await rig.opened();
  rig.service.react = () => ({ error: { code: status.INVALID_ARGUMENT, message: "no idea" } });
  const delivered = rig.deliver(to, names(16));
  await rig.clock.advance(120_000);
  expect(fates(delivered)).toBeUndefined();
  expect(to.state).toBe("SCHEMA_MISMATCH");
  expect(to.stateReason).toMatch(/^p\.d\.t: .*without naming/);
  rig.service.react = () => stored;
  await rig.clock.advance(60_000);
  expect(fates(delivered)).toEqual(durable(16));
  expect(to.state).toBe("ACTIVE");
});

test("a request that is too large goes in halves; one row alone is refused", async () => {
  const to = await rig.opened();
  rig.service.react = ({ rows }) =>
    rows.length > 2 || rows.includes("huge")
      ? { error: { code: status.INVALID_ARGUMENT, message: "AppendRows request too large: 19923131 limit 10485760" } }
      : stored;
  const delivered = rig.deliver(to, ["a", "b", "huge", "c", "d"]);
  await rig.clock.advance(100);
  expect(fates(delivered)).toEqual(["durable", "durable", "ROW_TOO_LARGE", "durable", "durable"]);
});

test("a dozen requests of bad rows only do not keep a good one out, which then shows what they are", async () => {
  const to = await rig.opened();
  rig.service.react = ({ rows }) =>
    rows.some((row) => row.startsWith("poison"))
      ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } }
      : stored;
  const poisoned = [];
  for (let i = 0; i < 12; i++) {
    poisoned.push(rig.deliver(to, [`poison ${i}`]));
    await rig.clock.advance(1000);
  }
  await rig.clock.advance(60_000);
  expect(poisoned.map(fates)).toEqual(poisoned.map(() => undefined));
  expect(to.state).toBe("SCHEMA_MISMATCH");
  const good = rig.deliver(to, ["good"]);
  await rig.clock.advance(20_000);
  expect(fates(good)).toEqual(["durable"]);
  // Those that share no search with it wait for the next good one.
  const next = rig.deliver(to, ["good too"]);
  await rig.clock.advance(20_000);
  expect(fates(next)).toEqual(["durable"]);
  expect(poisoned.map(fates)).toEqual(poisoned.map(() => ["ROW_REJECTED"]));
  expect(to.state).toBe("ACTIVE");
});

test("while nothing is taken, one request at a time is tried again, and the state stands still", async () => {
  const to = await rig.opened({
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9e6 },
  });
  rig.service.react = () => ({ error: { code: status.INVALID_ARGUMENT, message: "no idea" } });
  for (let i = 0; i < 8; i++) rig.deliver(to, names(1000, `${i}-`));
  await rig.clock.advance(60_000);
  const before = rig.service.requests.length;
  const states = new Set<string>();
  for (let second = 0; second < 600; second++) {
    await rig.clock.advance(1000);
    states.add(to.state);
  }
  expect([...states]).toEqual(["SCHEMA_MISMATCH"]);
  // One every five seconds, which may go down a path of two requests for each of ten sizes at most.
  expect(rig.service.requests.length - before).toBeLessThan((600 / 5) * 21);
  expect(rig.events.filter((event) => event.startsWith("refused"))).toEqual([]);
});

test("nor does a single one that takes all the memory that rows may have", async () => {
  const to = await rig.opened({ maxRowBytes: 1 });
  rig.service.react = ({ rows }) =>
    rows.includes("poison") ? { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } } : stored;
  const poisoned = rig.deliver(to, ["poison"]);
  await rig.clock.advance(10_000);
  const good = rig.deliver(to, ["good"]);
  await rig.clock.advance(20_000);
  expect(fates(good)).toEqual(["durable"]);
  expect(fates(poisoned)).toEqual(["ROW_REJECTED"]);
});

test("a single row that is refused while BigQuery refuses all is not blamed for it, though others are taken soon after", async () => {
  const to = await rig.opened({ batch: { maxBytes: 1 << 20, maxRows: 1, maxDelayMs: 0 } });
  const delivered = rig.deliver(to, ["a", "b"]);
  await rig.clock.advance(0);
  // The table is looked at after the first answer: the second comes before what is seen.
  rig.service.requests[0]!.answer({ error: { code: status.INVALID_ARGUMENT, message: "no idea" } });
  rig.service.requests[1]!.answer();
  rig.service.react = () => stored;
  await rig.clock.advance(5000);
  expect(fates(delivered)).toEqual(["durable", "durable"]);
});

test("a bad row that comes alone is found by a row that BigQuery took before; nothing is written for that", async () => {
  const to = await rig.opened();
  const table: string[] = [];
  rig.service.react = ({ rows, openedTo }) => {
    if (rows.includes("poison")) return { error: { code: status.INVALID_ARGUMENT, message: "something about a row" } };
    if (!isPending(openedTo)) table.push(...rows);
    return stored;
  };
  const good = rig.deliver(to, ["good", "fine"]);
  await rig.clock.advance(60_000);
  const poisoned = rig.deliver(to, ["poison"]);
  await rig.clock.advance(5000);
  expect([fates(good), fates(poisoned)]).toEqual([durable(2), ["ROW_REJECTED"]]);
  expect(table).toEqual(["good", "fine"]);
});

test("a fault of the table in the midst of a search does not empty the batch into dead letters", async () => {
  // The search begins when the table has been looked at, two seconds after it was read.
  for (let faultAtMs = 2030; faultAtMs < 2600; faultAtMs += 10) {
    const { blamed, written } = await searchWithFaultAt(faultAtMs);
    // Those whose other half was refused just before the fault, and they themselves just after, cannot be told from bad ones.
    expect(blamed.filter((row) => !isBad(row)).length, `fault after ${faultAtMs} ms`).toBeLessThanOrEqual(2);
    expect(blamed.length + written.length, `fault after ${faultAtMs} ms`).toBe(256);
  }
});

const isBad = (row: string): boolean => Number(row.slice(1)) % 16 === 5;

/** 256 rows, 16 of them bad, with answers after 10 ms; from some moment on BigQuery refuses everything for a while. */
async function searchWithFaultAt(faultAtMs: number): Promise<{ blamed: string[]; written: string[] }> {
  rig = new DestinationRig();
  const { clock, service } = rig;
  const to = await rig.opened();
  const startMs = clock.monotonic();
  service.react = (request) => {
    clock.setTimer(() => {
      const sinceMs = clock.monotonic() - startMs;
      const isFault = sinceMs >= faultAtMs && sinceMs < faultAtMs + 20_000;
      const isRefused = isFault || request.rows.some(isBad);
      request.answer(isRefused ? { error: { code: status.INVALID_ARGUMENT, message: "no" } } : stored);
    }, 10);
    return undefined;
  };
  const delivered = rig.deliver(to, names(256));
  await clock.advance(90_000);
  await to.close();
  const all = fates(delivered) ?? [];
  return {
    blamed: names(256).filter((_, i) => all[i] === "ROW_REJECTED"),
    written: names(256).filter((_, i) => all[i] === "durable"),
  };
}
