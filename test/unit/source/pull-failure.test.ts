import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import { pullFailure } from "../../../src/source/pull-failure.ts";

const subscription = "projects/acme/subscriptions/orders";

test.each([
  ["OK", "UNAVAILABLE", false],
  ["CANCELLED", "UNAVAILABLE", false],
  ["UNKNOWN", "UNAVAILABLE", false],
  ["INVALID_ARGUMENT", "UNAVAILABLE", true],
  ["DEADLINE_EXCEEDED", "UNAVAILABLE", false],
  ["NOT_FOUND", "NOT_FOUND", true],
  ["PERMISSION_DENIED", "PERMISSION_DENIED", true],
  ["RESOURCE_EXHAUSTED", "THROTTLED", false],
  ["FAILED_PRECONDITION", "NOT_FOUND", true],
  ["ABORTED", "UNAVAILABLE", false],
  ["INTERNAL", "UNAVAILABLE", false],
  ["UNAVAILABLE", "UNAVAILABLE", false],
  ["UNAUTHENTICATED", "PERMISSION_DENIED", true],
] as const)("%s is %s", (code, state, setup) => {
  const failure = pullFailure(status[code], "details", subscription);
  expect(failure).toMatchObject({ state, setup });
  expect(failure.backoff).toEqual({ initialMs: setup ? 2000 : 100, maxMs: 60_000 });
  expect(failure.reason).toContain(subscription);
});
