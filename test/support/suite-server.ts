/** A server that is up while a suite runs. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTimeoutMs } from "./eventually.ts";

/** Starts a server before the tests of the suite that is being described, and stops it after them. */
export function upDuringSuite<T>(start: () => Promise<T>, stop: (server: T) => Promise<void>): () => T {
  let server: T | undefined;
  beforeAll(async () => {
    server = await start();
  }, startTimeoutMs + 10_000);
  afterAll(async () => {
    if (server) await stop(server);
    server = undefined;
  });
  return () => {
    if (!server) throw new Error("The server is not up");
    return server;
  };
}

/** In place of a suite whose server cannot be had: a skipped test that says so, in capitals. */
export function saySkipped(server: string, reason: string): void {
  test.skipIf(true)(`SKIPPED, NOTHING RAN AGAINST ${server}: ${reason.toUpperCase()}`, () => {
    expect.unreachable();
  });
}
