import * as grpc from "@grpc/grpc-js";
import pino from "pino";
import { beforeEach, describe, expect, test } from "vitest";
import { pubsubProtos } from "../../../src/lib/protos.ts";
import type { PullObserver } from "../../../src/source/pull-observer.ts";
import { SubscriberRequests } from "../../../src/source/subscriber-requests.ts";
import { ackFailure } from "../../support/ack-failure.ts";
import { pulled } from "../../support/pulled-messages.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const subscription = "projects/acme/subscriptions/orders";
const settlement = { heldMs: 0, deadlineAt: Infinity, lastDeadlineAt: Infinity };
const noNacks: ReadonlyMap<number, number> = new Map();

interface Call {
  readonly method: string;
  readonly ackIds: readonly string[];
  readonly seconds: number;
}

let clock = new VirtualClock();
let log = "";
let calls: Call[] = [];
let events: string[] = [];
/** What a call fails with. */
let fail: (call: Call) => Error | undefined = () => undefined;

beforeEach(() => {
  clock = new VirtualClock();
  log = "";
  calls = [];
  events = [];
  fail = () => undefined;
});

type Answer = (error: Error | null, response?: Buffer) => void;

const client = {
  makeUnaryRequest(path: string, _: unknown, __: unknown, request: Buffer, ___: unknown, ____: unknown, done: Answer) {
    const method = path.split("/").at(-1)!;
    const type = pubsubProtos().lookupType(`google.pubsub.v1.${method}Request`);
    const { ackIds, ackDeadlineSeconds = 0 } = type.decode(request) as unknown as {
      ackIds: string[];
      ackDeadlineSeconds?: number;
    };
    const call = { method, ackIds, seconds: ackDeadlineSeconds };
    calls.push(call);
    const error = fail(call);
    queueMicrotask(() => (error ? done(error) : done(null, Buffer.alloc(0))));
    return { cancel: () => {} };
  },
} as unknown as grpc.Client;

function open(): SubscriberRequests {
  const observer: Partial<PullObserver> = {
    acked: (ids) => events.push(`acked ${ids}`),
    nacked: (ids) => events.push(`nacked ${ids}`),
    extended: (ids) => events.push(`extended ${ids}`),
    requestFailed: (kind, ids, code) => events.push(`${kind} failed ${ids} ${code}`),
  };
  return new SubscriberRequests({
    subscription,
    client,
    clock,
    log: pino({}, { write: (line: string) => (log += line) }),
    observer: observer as PullObserver,
    isCrowded: () => false,
    random: () => 0.5,
  });
}

function failure(code: grpc.status, details: string): Error {
  return Object.assign(new Error(`${code} ${grpc.status[code]}: ${details}`), { code, details });
}

describe("a settlement", () => {
  test("becomes one request for acks, and one for each pause in whole seconds", async () => {
    const nacks = new Map([
      [1, 0],
      [2, 1500],
      [4, 2000],
      [5, 9_999_999],
    ]);
    const settled = open().settle(pulled("1", "2", "3", "4", "5", "6"), nacks, settlement);
    await clock.advance(5);
    await settled;
    expect(calls.toSorted((a, b) => a.seconds - b.seconds || a.method.localeCompare(b.method))).toEqual([
      { method: "Acknowledge", ackIds: ["1", "4"], seconds: 0 },
      { method: "ModifyAckDeadline", ackIds: ["2"], seconds: 0 },
      { method: "ModifyAckDeadline", ackIds: ["3", "5"], seconds: 2 },
      { method: "ModifyAckDeadline", ackIds: ["6"], seconds: 600 },
    ]);
    expect(events.toSorted()).toEqual(["acked 2", "nacked 1", "nacked 1", "nacked 2"]);
  });

  test("of another generation of the subscription does not share a request", async () => {
    const requests = open();
    const [old, young] = [pulled("1"), Object.assign(pulled("2"), { generation: 1 })];
    void requests.settle(old, noNacks, settlement);
    void requests.settle(young, noNacks, settlement);
    await clock.advance(5);
    expect(calls.map(({ ackIds }) => ackIds)).toEqual([["1"], ["2"]]);
  });
});

describe("what the status of a call means", () => {
  test.each(["NOT_FOUND", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED"] as const)(
    "%s: given up at once",
    async (name) => {
      fail = () => failure(grpc.status[name], "no");
      const settled = open().settle(pulled("1", "2"), noNacks, settlement);
      await clock.advance(5);
      await settled;
      expect(calls).toHaveLength(1);
      expect(events).toEqual([`ack failed 2 ${name}`]);
    },
  );

  test.each([
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "INTERNAL",
    "RESOURCE_EXHAUSTED",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
  ] as const)("%s: tried again", async (name) => {
    fail = () => (calls.length < 3 ? failure(grpc.status[name], "later") : undefined);
    const settled = open().settle(pulled("1", "2"), noNacks, settlement);
    await clock.advance(1000);
    await settled;
    expect(calls).toHaveLength(3);
    expect(events).toEqual(["acked 2"]);
  });

  test("INVALID_ARGUMENT: the bad id is looked for", async () => {
    fail = ({ ackIds }) => (ackIds.includes("2") ? failure(grpc.status.INVALID_ARGUMENT, "some id") : undefined);
    const settled = open().settle(pulled("1", "2", "3", "4"), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(events.toSorted()).toEqual(["ack failed 1 INVALID_ARGUMENT", "acked 1", "acked 2"]);
  });

  test("ids that are named fail alone", async () => {
    fail = () => ackFailure({ 2: "PERMANENT_FAILURE_INVALID_ACK_ID" });
    const settled = open().settle(pulled("1", "2", "3", "4"), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(calls).toHaveLength(1);
    expect(events.toSorted()).toEqual(["ack failed 1 INVALID_ARGUMENT", "acked 3"]);
  });
});

test("failures that name no id of the request do not make the others count as taken", async () => {
  fail = () => ackFailure({ 77: "PERMANENT_FAILURE_INVALID_ACK_ID" });
  const receipt = open().receipt(pulled("1", "2"), 60);
  await clock.advance(5);
  expect((await receipt).lost).toEqual([0, 1]);
  expect(events).toEqual(["extend failed 1 INVALID_ARGUMENT", "extend failed 1 INVALID_ARGUMENT"]);
});

test("a receipt is tried three times, an extension once", async () => {
  fail = () => failure(grpc.status.UNAVAILABLE, "");
  const requests = open();
  const receipt = requests.receipt(pulled("1"), 60);
  await clock.advance(60_000);
  expect(await receipt).toEqual({ lost: [], untaken: [0] });
  expect(calls).toHaveLength(3);
  const extension = requests.extend(pulled("2", "3"), 60, [1]);
  await clock.advance(60_000);
  expect(await extension).toEqual({ lost: [], untaken: [1] });
  expect(calls).toHaveLength(4);
});

describe("ack ids do not reach the log", () => {
  const ackId = "QBJMJwFESVMrQwsqWBFOBCEhPjA_".repeat(6);
  const batch = (): ReturnType<typeof pulled> => pulled(`${ackId}1`, `${ackId}2`);

  const words = [
    ["that quote an id of the request", `You have passed an invalid ack ID to the service (ack_id=${ackId}1).`],
    ["that quote several", `Invalid: ${ackId}1,${ackId}2`],
    ["that quote a part of one", `Invalid ack ID ${ackId.slice(0, 90)}…`],
    ["that quote one of another request", `Invalid ack ID ${ackId}999`],
  ] as const;

  test.each(words)("in words %s", async (_, details) => {
    fail = () => failure(grpc.status.INVALID_ARGUMENT, details);
    const settled = open().settle(batch(), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(log).toContain("Pub/Sub did not take a request");
    expect(log).toContain(details.slice(0, 8));
    expect(log).not.toContain("QBJMJwFESVMr");
    expect(events.join()).not.toContain("QBJMJwFESVMr");
  });

  test("in words of a server whose ids are short", async () => {
    fail = ({ ackIds }) => failure(grpc.status.NOT_FOUND, `no outstanding message ${ackIds[0]} here`);
    const settled = open().settle(pulled("orders:17"), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(log).toContain('"details":"no outstanding message [ack id] here"');
  });

  test("as keys of an ErrorInfo", async () => {
    fail = () => ackFailure({ [`${ackId}1`]: "PERMANENT_FAILURE_INVALID_ACK_ID" });
    const settled = open().settle(batch(), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(log).toContain('"code":"INVALID_ARGUMENT"');
    expect(log).not.toContain("QBJMJwFESVMr");
  });

  test("and the words of a service that quotes none stay as they are", async () => {
    const details = `Resource not found (resource=${subscription}).`;
    fail = () => failure(grpc.status.NOT_FOUND, details);
    const settled = open().settle(batch(), noNacks, settlement);
    await clock.advance(5);
    await settled;
    expect(log).toContain(`"details":"${details}"`);
  });
});

test("one failure that comes a thousand times has one line in ten seconds", async () => {
  fail = () => failure(grpc.status.NOT_FOUND, "gone");
  const requests = open();
  for (let k = 0; k < 1000; k++) {
    void requests.settle(pulled("1"), noNacks, settlement);
    await clock.advance(9);
  }
  expect(log.trim().split("\n")).toHaveLength(1);
  expect(calls).toHaveLength(1000);
});
