import * as grpc from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { GrpcServer } from "../../../src/emulator/grpc-server.ts";
import { pubsubProtos, serviceDefinition } from "../../../src/lib/protos.ts";
import { subscriptionDetails } from "../../../src/source/subscription-details.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const subscription = "projects/acme/subscriptions/orders";
const topic = "projects/acme/topics/orders";
let server = new GrpcServer();
let asked: string[] = [];
/** What the next calls fail with, in turn. */
let failures: grpc.status[] = [];

beforeEach(async () => {
  server = new GrpcServer();
  asked = [];
  failures = [];
  server.addService(serviceDefinition(pubsubProtos(), "google.pubsub.v1.Subscriber"), {
    GetSubscription: (call: { request: { subscription: string } }, callback: grpc.sendUnaryData<object>) => {
      asked.push(call.request.subscription);
      const code = failures.shift();
      if (code === undefined) callback(null, { name: subscription, topic, ackDeadlineSeconds: 10, filter: "x" });
      else callback({ code, details: "No." });
    },
  });
  await server.listen();
});

afterEach(() => server.close());

/** Time flies while the answer is waited for. */
async function ask(): Promise<object> {
  const clock = new VirtualClock();
  const endpoint = { host: "127.0.0.1", port: server.port, plaintext: true };
  const waiting = { over: false };
  const answer = subscriptionDetails(
    { subscription, endpoint, credentials: undefined, clock },
    new AbortController().signal,
  ).finally(() => (waiting.over = true));
  while (!waiting.over) {
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(100);
  }
  return answer;
}

test("a subscription as it is set up", async () => {
  expect(await ask()).toEqual({ topic, ackDeadlineSeconds: 10, ordered: false, exactlyOnce: false });
  expect(asked).toEqual([subscription]);
});

test.each(["PERMISSION_DENIED", "NOT_FOUND", "UNIMPLEMENTED"] as const)("%s: it cannot be seen", async (code) => {
  failures = [grpc.status[code]];
  expect(await ask()).toEqual({ code: grpc.status[code], details: "No." });
  expect(asked).toHaveLength(1);
});

test("what passes by itself is tried three times", async () => {
  failures = [grpc.status.UNAVAILABLE, grpc.status.INTERNAL];
  expect(await ask()).toMatchObject({ topic });
  failures = [grpc.status.UNAVAILABLE, grpc.status.UNAVAILABLE, grpc.status.UNAVAILABLE];
  expect(await ask()).toEqual({ code: grpc.status.UNAVAILABLE, details: "No." });
  expect(asked).toHaveLength(6);
});
