import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openClient } from "../../../src/lib/endpoint.ts";
import { callUnary, detailsOf, plainDetails, routingHeader, statusName, statusOf } from "../../../src/lib/raw-call.ts";
import { FakePublisher } from "../../support/fake-publisher.ts";

/** PublishRequest: topic (1) is `t`, one message (2) whose data (1) is `x`. */
const publish = Buffer.from("0a017412030a0178", "hex");
/** PublishResponse: one message id (1), `0`. */
const published = Buffer.from("0a0130", "hex");

describe("a unary call", () => {
  let server: FakePublisher;
  let client: grpc.Client;

  beforeEach(async () => {
    server = new FakePublisher();
    await server.start();
    client = openClient({ host: "127.0.0.1", port: server.port, plaintext: true }, undefined);
  });
  afterEach(async () => {
    client.close();
    await server.close();
  });

  function call(signal?: AbortSignal): Promise<Buffer> {
    return callUnary({
      client,
      path: "/google.pubsub.v1.Publisher/Publish",
      metadata: routingHeader("topic", "t"),
      request: publish,
      timeoutMs: 5000,
      ...(signal && { signal }),
    });
  }

  test("hands bytes over and gives bytes back", async () => {
    expect(await call()).toEqual(published);
    expect(server.messages.map(({ data }) => data.toString())).toEqual(["x"]);
  });

  test("fails with the server's status and words, then works again", async () => {
    server.failures.push({ code: grpc.status.PERMISSION_DENIED, details: "not you" });
    const error = await call().catch((reason: unknown) => reason);
    expect([statusName(statusOf(error)), detailsOf(error)]).toEqual(["PERMISSION_DENIED", "not you"]);
    expect(await call()).toEqual(published);
  });

  test("ends with CANCELLED when it is called off, before or while it waits", async () => {
    const calledOff = new AbortController();
    server.before = () => {
      calledOff.abort();
      return new Promise(() => {});
    };
    for (let i = 0; i < 2; i++) {
      const error = await call(calledOff.signal).catch((reason: unknown) => reason);
      expect(statusName(statusOf(error))).toBe("CANCELLED");
    }
  });
});

test("an error that is no status counts as UNKNOWN, with its own words", () => {
  expect(statusOf(new Error("boom"))).toBe(grpc.status.UNKNOWN);
  expect(statusOf(Object.assign(new Error("boom"), { code: "ENOTFOUND" }))).toBe(grpc.status.UNKNOWN);
  expect(statusOf("boom")).toBe(grpc.status.UNKNOWN);
  expect([detailsOf(new Error("boom")), detailsOf("boom")]).toEqual(["boom", "boom"]);
});

test("the routing header escapes the resource", () => {
  expect(routingHeader("subscription", "projects/p/subscriptions/s+1").get("x-goog-request-params")).toEqual([
    "subscription=projects%2Fp%2Fsubscriptions%2Fs%2B1",
  ]);
});

test.each([
  [
    "No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:9999. Resolution note: ",
    "connect ECONNREFUSED 127.0.0.1:9999",
  ],
  [
    "No connection established. Last error: Protocol error (2026-11-30T23:11:54.835Z). Resolution note: ",
    "Protocol error",
  ],
  ["The service was unable to fulfill your request.", "The service was unable to fulfill your request."],
  ["", ""],
])("details %j are told as %j", (details, told) => {
  expect(plainDetails(details)).toBe(told);
});
