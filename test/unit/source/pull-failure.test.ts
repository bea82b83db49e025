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

test("a missing connection is told by its cause, the same at every try", () => {
  const words = (moment: string) =>
    `No connection established. Last error: Protocol error (${moment}). Resolution note: `;
  const reasons = ["2026-11-30T23:11:54.835Z", "2026-11-30T23:11:55.829Z"].map(
    (moment) => pullFailure(status.UNAVAILABLE, words(moment), subscription).reason,
  );
  expect(reasons[0]).toBe(
    `Pub/Sub does not deliver from ${subscription} at present (UNAVAILABLE: Protocol error). Millrace keeps trying.`,
  );
  expect(reasons[1]).toBe(reasons[0]);
});
