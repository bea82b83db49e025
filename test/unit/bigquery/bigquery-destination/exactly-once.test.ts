/** The destination with `delivery: exactlyOnce`: what is sent, and what becomes of it, against write streams that keep offsets. */
import { status } from "@grpc/grpc-js";
import { beforeEach, describe, expect, test } from "vitest";
import type { BigQueryDestination, BigQueryDestinationOptions } from "../../../../src/bigquery/bigquery-destination.ts";
import { DestinationRig, durable, fates, names, tableOf, watchRejections } from "../../../support/destination-rig.ts";
import type { FakeAnswer, SentRequest } from "../../../support/fake-append-service.ts";

let rig: DestinationRig;

watchRejections();
beforeEach(() => {
  rig = new DestinationRig();
  rig.service.react = take;
});

const twoRows = { maxBytes: 1 << 20, maxRows: 2, maxDelayMs: 20 };
const fourInFlight = { maxInFlight: 4, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 };
const dayMs = 86_400_000;

function opened(options: Partial<BigQueryDestinationOptions> = {}): Promise<BigQueryDestination> {
  return rig.opened({ delivery: "exactlyOnce", batch: twoRows, append: fourInFlight, ...options });
}

/** The server takes a request, unless it has poisonous rows; these it names. */
function take(request: SentRequest): FakeAnswer {
  const bad = [...request.rows.keys()].filter((index) => request.rows[index]!.startsWith("poison"));
  const rowErrors = bad.map((index) => ({ index, message: "poison" }));
  return rig.writeStreams.append(request, bad.length === 0 ? undefined : { error: { code: 3 }, rowErrors });
}

/** Leaves requests to the test. */
function leave(): undefined {
  return undefined;
}

/** Stream, offset and rows of every request. */
const sent = (): string[] =>
  rig.service.requests.map(({ openedTo, offset, rows }) => `${openedTo.split("/").at(-1)}@${offset} ${rows.join()}`);

const eventsOf = (word: string): string[] => rig.events.filter((event) => event.startsWith(word));

test("each request has its offset in a stream that was created for it; trace and schema come with the first ones", async () => {
  const to = await opened({ append: { ...fourInFlight, maxInFlight: 1 } });
  const delivered = rig.deliver(to, names(5));
  await rig.clock.advance(20);
  expect(sent()).toEqual(["s0@0 r0,r1", "s0@2 r2,r3", "s0@4 r4"]);
  const [name] = rig.writeStreams.names;
  expect(rig.service.requests.map(({ writeStream }) => writeStream)).toEqual([name, name, name]);
  expect(rig.service.requests.map(({ schema }) => schema)).toEqual(["row_a", "", ""]);
  expect(fates(delivered)).toEqual(durable(5));
  expect(rig.writeStreams.rows).toEqual(names(5));
});

describe("an answer is lost", () => {
  test("after the rows were stored: the same request at the same offset, and nothing before it", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(6));
    await rig.clock.advance(20);
    for (const request of rig.service.requests.slice(0, 2)) take(request);
    rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
    rig.service.react = take;
    const later = rig.deliver(to, ["later"]);
    await rig.clock.advance(1000);
    expect(sent().slice(3)).toEqual(["s0@0 r0,r1", "s0@2 r2,r3", "s0@4 r4,r5", "s0@6 later"]);
    expect(rig.writeStreams.rows).toEqual([...names(6), "later"]);
    expect([fates(delivered), fates(later)]).toEqual([durable(6), durable(1)]);
    expect(eventsOf("already stored")).toEqual(["already stored 2", "already stored 2"]);
    expect(eventsOf("stream")).toEqual(["stream created"]);
  });

  test("the failure of a request hides that it took effect", async () => {
    const to = await opened();
    let failures = 2;
    rig.service.react = (request) => {
      const answer = take(request);
      return failures-- > 0 ? { error: { code: status.INTERNAL } } : answer;
    };
    const delivered = rig.deliver(to, names(4));
    await rig.clock.advance(1000);
    expect(sent()).toEqual(["s0@0 r0,r1", "s0@2 r2,r3", "s0@0 r0,r1", "s0@2 r2,r3"]);
    expect(rig.writeStreams.rows).toEqual(names(4));
    expect(fates(delivered)).toEqual(durable(4));
  });

  test("a later answer says that the rows before it are in, so they are not sent again", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(4));
    await rig.clock.advance(20);
    const [first, second] = rig.service.requests;
    take(first!);
    first!.answer({ error: { code: status.ABORTED } });
    second!.answer(take(second!));
    await rig.clock.advance(1000);
    expect(sent()).toHaveLength(2);
    expect(fates(delivered)).toEqual(durable(4));
  });

  test("for ever: after five minutes the connection is given up", async () => {
    const to = await opened();
    rig.service.react = (request) => void take(request);
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(299_000);
    expect(sent()).toHaveLength(1);
    rig.service.react = take;
    await rig.clock.advance(2000);
    expect(sent()).toEqual(["s0@0 r0,r1", "s0@0 r0,r1"]);
    expect(fates(delivered)).toEqual(durable(2));
    // An answer of the connection that was given up belongs to nobody.
    rig.service.requests[0]!.answer({ error: { code: status.INVALID_ARGUMENT } });
    await rig.clock.advance(1000);
    expect(rig.writeStreams.rows).toEqual(names(2));
  });
});

describe("a request is refused", () => {
  test("it takes no offset, and those behind it move up", async () => {
    const to = await opened();
    const delivered = rig.deliver(to, ["a", "poison", "c", "d", "e", "f"]);
    await rig.clock.advance(1000);
    expect(sent().slice(0, 3)).toEqual(["s0@0 a,poison", "s0@2 c,d", "s0@4 e,f"]);
    expect(rig.writeStreams.rows).toEqual(["a", "c", "d", "e", "f"]);
    expect(fates(delivered)).toEqual(["durable", "ROW_REJECTED", ...durable(4)]);
    expect(eventsOf("retried")).toEqual(["retried offset 2", "retried rowErrors 1"]);
  });

  test("while nobody knows of one behind it: the stream is sealed, and its row count tells", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, ["a", "b", "poison", "d", "e", "f"]);
    await rig.clock.advance(20);
    // The first one is stored, the second one refused, the answers to both and the third are lost.
    for (const request of rig.service.requests.slice(0, 3)) take(request);
    rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
    rig.service.react = take;
    await rig.clock.advance(5000);
    expect(rig.writeStreams.finalizations).toEqual([rig.writeStreams.names[0]]);
    expect(rig.writeStreams.rows.toSorted()).toEqual(["a", "b", "d", "e", "f"]);
    expect(fates(delivered)).toEqual(["durable", "durable", "ROW_REJECTED", ...durable(3)]);
    expect(eventsOf("unknown")).toEqual([]);
    expect(eventsOf("stream")).toEqual(["stream created", "stream sealed", "stream created"]);
  });
});

describe("the stream is lost", () => {
  test("somebody finalized it: its row count tells which rows are in, the others go to another stream", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(4));
    await rig.clock.advance(20);
    take(rig.service.requests[0]!);
    rig.writeStreams.streams.values().next().value!.finalized = true;
    rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
    rig.service.react = take;
    await rig.clock.advance(5000);
    expect(sent().slice(2)).toEqual(["s0@0 r0,r1", "s1@0 r2,r3"]);
    expect(fates(delivered)).toEqual(durable(4));
    expect(rig.writeStreams.rows).toEqual(names(4));
  });

  test("it is not there any more, though its table is: rows in doubt are written again, and counted", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(20);
    take(rig.service.requests[0]!);
    rig.service.requests[0]!.end({ code: status.UNAVAILABLE });
    rig.writeStreams.streams.delete(rig.writeStreams.names[0]!);
    rig.service.react = take;
    await rig.clock.advance(5000);
    expect(fates(delivered)).toEqual(durable(2));
    expect(eventsOf("unknown")).toEqual(["unknown 2"]);
  });

  test("its table was deleted and made again: the rows went with the table, and nothing is unknown", async () => {
    const to = await opened();
    rig.service.react = () => ({ error: { code: status.NOT_FOUND, storageError: 1 } });
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(3000);
    expect(to.state).toBe("NOT_FOUND");
    rig.writeStreams.streams.clear();
    rig.service.react = take;
    await rig.clock.advance(20_000);
    expect(fates(delivered)).toEqual(durable(2));
    expect(to.state).toBe("ACTIVE");
    expect(eventsOf("unknown")).toEqual([]);
  });

  test("its row count cannot be had: everything waits, the state says so, and nothing is written elsewhere", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(20);
    take(rig.service.requests[0]!);
    rig.writeStreams.finalizationFailures.push(...Array.from({ length: 30 }, () => ({ code: status.UNAVAILABLE })));
    rig.service.requests[0]!.answer({ error: { code: status.INVALID_ARGUMENT, storageError: 6 } });
    await rig.clock.advance(20_000);
    expect(to.state).toBe("UNAVAILABLE");
    expect(sent()).toHaveLength(1);
    rig.writeStreams.finalizationFailures.length = 0;
    await rig.clock.advance(20_000);
    expect(fates(delivered)).toEqual(durable(2));
    expect(rig.writeStreams.rows).toEqual(names(2));
    expect(to.state).toBe("ACTIVE");
  });
});

test("a stream whose row count cannot be had keeps no other from its work, even if it got the probe after a failure", async () => {
  const to = await opened({ append: { ...fourInFlight, maxInFlight: 1, minConnections: 2, maxConnections: 2 } });
  rig.service.react = leave;
  const first = rig.deliver(to, names(4));
  await rig.clock.advance(20);
  expect(sent()).toEqual(["s0@0 r0,r1", "s1@0 r2,r3"]);
  for (const request of rig.service.requests.slice(0, 2)) request.end({ code: status.UNAVAILABLE });
  rig.writeStreams.finalizationFailures.push(...Array.from({ length: 9 }, () => ({ code: status.UNAVAILABLE })));
  rig.writeStreams.streams.values().next().value!.finalized = true;
  rig.service.react = take;
  const second = rig.deliver(to, names(4, "s"));
  await rig.clock.advance(1500);
  expect([fates(first), fates(second), to.state]).toEqual([undefined, durable(4), "ACTIVE"]);
  await rig.clock.advance(60_000);
  expect(fates(first)).toEqual(durable(4));
  expect(rig.writeStreams.rows.toSorted()).toEqual([...names(4), ...names(4, "s")]);
});

test("the server has rows at an offset that nobody sent: these are not taken for ours", async () => {
  const to = await opened();
  rig.service.react = leave;
  const delivered = rig.deliver(to, names(2));
  await rig.clock.advance(20);
  rig.service.requests[0]!.answer({ error: { code: status.ALREADY_EXISTS } });
  rig.service.react = take;
  await rig.clock.advance(5000);
  expect(sent()).toEqual(["s0@0 r0,r1", "s1@0 r0,r1"]);
  expect(fates(delivered)).toEqual(durable(2));
  expect(eventsOf("unknown")).toEqual(["unknown 2"]);
});

test("the server is not as far as was confirmed: another stream is used", async () => {
  const to = await opened();
  let requests = 0;
  rig.service.react = (request) => (++requests === 2 ? { error: { code: status.OUT_OF_RANGE } } : take(request));
  const delivered = rig.deliver(to, names(4));
  await rig.clock.advance(5000);
  expect(sent()).toEqual(["s0@0 r0,r1", "s0@2 r2,r3", "s1@0 r2,r3"]);
  expect(fates(delivered)).toEqual(durable(4));
});

test("a request that ends its connection for being too large goes in halves, to another stream", async () => {
  const to = await opened({ batch: { ...twoRows, maxRows: 4 } });
  rig.service.react = (request) => {
    if (request.rows.length <= 2) return take(request);
    queueMicrotask(() => request.end({ code: status.RESOURCE_EXHAUSTED, message: "Received message larger than max" }));
    return undefined;
  };
  const delivered = rig.deliver(to, names(4));
  await rig.clock.advance(5000);
  expect(sent()).toEqual(["s0@0 r0,r1,r2,r3", "s1@0 r0,r1", "s1@2 r2,r3"]);
  expect(fates(delivered)).toEqual(durable(4));
});

describe("a stream cannot be created", () => {
  test.each([
    ["PERMISSION_DENIED", { code: status.PERMISSION_DENIED }, "PERMISSION_DENIED"],
    ["NOT_FOUND", { code: status.NOT_FOUND, storageError: 1 }, "NOT_FOUND"],
    ["the quota of CreateWriteStream is used up", { code: status.RESOURCE_EXHAUSTED }, "THROTTLED"],
    ["the table is none that streams are for", { code: status.INVALID_ARGUMENT }, "UNAVAILABLE"],
  ] as const)("%s: everything is held, and goes on by itself", async (_, failure, state) => {
    const to = await opened();
    rig.writeStreams.creationFailures.push(failure, failure);
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(500);
    expect([to.state, rig.service.requests.length]).toEqual([state, 0]);
    await rig.clock.advance(20_000);
    expect(fates(delivered)).toEqual(durable(2));
    expect(to.state).toBe("ACTIVE");
    expect(rig.writeStreams.creations).toBe(3);
  });

  test("one more than there are: the others go on, and no state is shown", async () => {
    const append = { ...fourInFlight, maxInFlight: 1, minConnections: 2, maxConnections: 2 };
    const to = await opened({ append });
    rig.service.react = (request) => {
      rig.clock.setTimer(() => request.answer(take(request)), 10);
      return undefined;
    };
    rig.writeStreams.creationFailures.push(undefined, { code: status.RESOURCE_EXHAUSTED });
    const delivered = rig.deliver(to, names(12));
    await rig.clock.advance(1000);
    expect(fates(delivered)).toEqual(durable(12));
    expect([to.state, rig.writeStreams.creations]).toEqual(["ACTIVE", 2]);
    await rig.clock.advance(20_000);
    rig.deliver(to, names(12, "s"));
    await rig.clock.advance(1000);
    expect(rig.writeStreams.streams.size).toBe(2);
    expect(new Set(rig.service.requests.slice(6).map(({ openedTo }) => openedTo))).toEqual(
      new Set(rig.writeStreams.names),
    );
  });
});

describe("a stream is left in order", () => {
  test("before BigQuery forgets it", async () => {
    const to = await opened();
    rig.deliver(to, names(2));
    await rig.clock.advance(1.9 * dayMs);
    rig.deliver(to, names(2, "s"));
    await rig.clock.advance(0.2 * dayMs);
    rig.deliver(to, names(2, "t"));
    await rig.clock.advance(1000);
    expect(sent()).toEqual(["s0@0 r0,r1", "s0@2 s0,s1", "s1@0 t0,t1"]);
    expect(rig.writeStreams.finalizations).toEqual([rig.writeStreams.names[0]]);
    expect(eventsOf("stream")).toEqual(["stream created", "stream rotated", "stream finalized", "stream created"]);
  });

  test("for another schema, when what it has is decided", async () => {
    const to = await opened();
    rig.service.react = leave;
    rig.deliver(to, names(2));
    await rig.clock.advance(20);
    rig.table = tableOf("a", "late");
    const late = rig.deliver(to, ["field late"]);
    await rig.clock.advance(3000);
    expect(eventsOf("stream")).toEqual(["stream created", "stream rotated"]);
    expect(sent()).toEqual(["s0@0 r0,r1"]);
    rig.service.react = take;
    rig.service.requests[0]!.answer(take(rig.service.requests[0]!));
    await rig.clock.advance(100);
    expect(sent()[1]).toBe("s1@0 field late");
    expect(rig.last().schema).toBe("row_a_late");
    expect(fates(late)).toEqual(durable(1));
    expect(rig.writeStreams.finalizations).toEqual([rig.writeStreams.names[0]]);
  });

  test("when the destination closes", async () => {
    const to = await opened();
    rig.deliver(to, names(2));
    await rig.clock.advance(100);
    await to.close();
    expect(rig.writeStreams.finalizations).toEqual(rig.writeStreams.names);
    expect(rig.writeStreams.isClosed).toBe(true);
    await rig.clock.advance(0);
    expect(rig.clock.pending).toBe(0);
  });
});

test("a connection that the server closes for want of traffic costs nothing: the stream goes on where it was", async () => {
  const to = await opened();
  rig.deliver(to, names(2));
  await rig.clock.advance(610_000);
  rig.service.requests[0]!.end({ code: status.ABORTED, message: "Stream closed: inactive for 600 seconds" });
  await rig.clock.advance(5000);
  const delivered = rig.deliver(to, names(2, "s"));
  await rig.clock.advance(20);
  expect(sent()).toEqual(["s0@0 r0,r1", "s0@2 s0,s1"]);
  expect(rig.last()).toMatchObject({ call: 1, schema: "row_a" });
  expect(fates(delivered)).toEqual(durable(2));
});

test("what a person has mended is seen over a new connection, once the old one has its answers", async () => {
  const to = await opened();
  let denied = true;
  rig.service.react = (request) => (denied ? { error: { code: status.PERMISSION_DENIED } } : take(request));
  const delivered = rig.deliver(to, names(4));
  await rig.clock.advance(500);
  expect(to.state).toBe("PERMISSION_DENIED");
  denied = false;
  await rig.clock.advance(20_000);
  expect(fates(delivered)).toEqual(durable(4));
  expect(rig.writeStreams.rows).toEqual(names(4));
  expect(rig.last().call).toBeGreaterThan(0);
  expect(rig.writeStreams.streams.size).toBe(1);
});

describe("a drain that does not get its answers", () => {
  test("finds out shortly before its end what is in; only what is not is given back", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(6));
    await rig.clock.advance(20);
    for (const request of rig.service.requests.slice(0, 2)) take(request);
    const drained = to.drain(rig.clock.monotonic() + 10_000);
    await rig.clock.advance(10_000);
    await drained;
    expect(fates(delivered)).toEqual([...durable(4), "abandoned", "abandoned"]);
    // Finalized: what is still under way to it has no effect any more.
    take(rig.service.requests[2]!);
    expect(rig.writeStreams.rows).toEqual(names(4));
    expect(eventsOf("unknown")).toEqual([]);
    await to.close();
  });

  test("and cannot find out: everything is given back, and counted", async () => {
    const to = await opened();
    rig.service.react = leave;
    const delivered = rig.deliver(to, names(2));
    await rig.clock.advance(20);
    rig.writeStreams.finalizationFailures.push(...Array.from({ length: 200 }, () => ({ code: status.UNAVAILABLE })));
    const drained = to.drain(rig.clock.monotonic() + 10_000);
    await rig.clock.advance(10_000);
    await drained;
    expect(fates(delivered)).toEqual(["abandoned", "abandoned"]);
    const closed = to.close();
    await rig.clock.advance(1000);
    await closed;
    expect(eventsOf("unknown")).toEqual(["unknown 2"]);
    expect(rig.service.requests).toHaveLength(1);
  });
});
