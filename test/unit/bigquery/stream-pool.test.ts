import { status } from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { AppendRequest } from "../../../src/bigquery/append-request.ts";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { StreamPool } from "../../../src/bigquery/stream-pool.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeAppendService } from "../../support/fake-append-service.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const transcoder = new FakeTranscoder();
let clock: VirtualClock;
let service: FakeAppendService;
let answered: string[];
let ended: string[][];
let sizes: number[];

beforeEach(() => {
  clock = new VirtualClock();
  service = new FakeAppendService();
  answered = [];
  ended = [];
  sizes = [];
});

function poolOf(minConnections: number, maxConnections = minConnections): StreamPool {
  const options = {
    openCall: service.openCall,
    writeStream: "projects/p/datasets/d/tables/t/streams/_default",
    traceId: "millrace:1",
    bounds: { minConnections, maxConnections, maxInFlight: 2 },
    clock,
  };
  return new StreamPool(options, {
    answered: (request) => answered.push(nameOf(request)),
    ended: (_, unanswered) => ended.push(unanswered.map(nameOf)),
    resized: (connections) => sizes.push(connections),
  });
}

const requestNames = new Map<AppendRequest, string>();
const nameOf = (request: AppendRequest): string => requestNames.get(request)!;

function requestOf(name: string): AppendRequest {
  const batch = new PayloadBatch([Buffer.from(name)]);
  const pending = new PendingRows(
    new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1000 }),
    transcoder,
    () => undefined,
  );
  pending.from(new Delivery(batch, new AbortController().signal, () => undefined));
  transcoder.transcode(batch, 0, 1, pending.rows);
  pending.seal();
  const request = new AppendRequest(pending, 0, clock.monotonic());
  requestNames.set(request, name);
  return request;
}

const sentTo = (): string[] => service.requests.map(({ call, rows }) => `${rows.join()} on ${call}`);

test("one connection takes as many requests as may be in flight", () => {
  const pool = poolOf(1);
  for (const name of ["a", "b"]) pool.send(requestOf(name));
  expect(pool.makeRoom()).toBe(false);
  expect(pool.held).toBe(2);
  service.requests[0]!.answer();
  expect(pool.makeRoom()).toBe(true);
  expect(answered).toEqual(["a"]);
});

test("connections are opened as they are needed, and the least busy one is used", () => {
  const pool = poolOf(3);
  pool.send(requestOf("a"));
  service.requests[0]!.answer();
  pool.send(requestOf("b"));
  pool.send(requestOf("c"));
  pool.send(requestOf("d"));
  pool.send(requestOf("e"));
  service.requests[2]!.answer();
  pool.send(requestOf("f"));
  expect(sentTo()).toEqual(["a on 0", "b on 0", "c on 1", "d on 2", "e on 0", "f on 1"]);
  expect(sizes).toEqual([1, 2, 3]);
});

test("what a broken connection leaves without an answer comes back in order", () => {
  const pool = poolOf(2);
  for (const name of ["a", "b", "c", "d"]) pool.send(requestOf(name));
  expect(sentTo()).toEqual(["a on 0", "b on 1", "c on 0", "d on 1"]);
  service.requests[0]!.end({ code: status.UNAVAILABLE });
  expect(ended).toEqual([["a", "c"]]);
  expect(sizes).toEqual([1, 2, 1]);
  pool.send(requestOf("e"));
  expect(sentTo().at(-1)).toBe("e on 2");
});

test("renewed, it closes connections when they have their answers, and uses new ones at once", () => {
  const pool = poolOf(1);
  pool.send(requestOf("a"));
  pool.renew();
  expect(service.closed).toBe(1);
  pool.send(requestOf("b"));
  expect(sentTo()).toEqual(["a on 0", "b on 1"]);
  service.requests[0]!.answer();
  service.requests[0]!.end({ code: status.OK });
  expect(answered).toEqual(["a"]);
  expect(ended).toEqual([[]]);
});

test("grown under load, it gives connections up when little is in flight", async () => {
  const pool = poolOf(1, 3);
  const waiting = requestOf("a");
  pool.send(waiting);
  for (let i = 0; i < 3; i++) {
    // Each request has waited long for room.
    const request = requestOf("w");
    await clock.advance(1000);
    service.requests.at(-1)!.answer();
    pool.send(request);
  }
  expect(pool.makeRoom()).toBe(true);
  pool.send(requestOf("x"));
  pool.send(requestOf("y"));
  expect(sizes).toEqual([1, 2, 3]);
  for (const request of service.requests.slice(-3)) request.answer();
  for (let minute = 0; minute < 4; minute++) {
    await clock.advance(60_000);
    pool.send(requestOf("z"));
    service.requests.at(-1)!.answer();
  }
  expect(service.closed).toBe(2);
});

test("closed, it cuts everything and reports nothing", async () => {
  const pool = poolOf(2);
  for (const name of ["a", "b"]) pool.send(requestOf(name));
  await pool.close();
  expect(service.closed).toBe(2);
  expect([answered, ended]).toEqual([[], []]);
  await clock.advance(600_000);
  expect(clock.pending).toBe(0);
});
