import { beforeEach, expect, test } from "vitest";
import { PoolSize } from "../../../src/bigquery/pool-size.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const bounds = { minConnections: 1, maxConnections: 4, maxInFlight: 8 };
let clock: VirtualClock;
let size: PoolSize;

beforeEach(() => {
  clock = new VirtualClock();
  size = new PoolSize(bounds, clock);
});

/** Requests every 10 ms for so many seconds. */
async function traffic(seconds: number, waitedMs: (i: number) => number, inFlight: number): Promise<void> {
  for (let i = 0; i < seconds * 100; i++) {
    await clock.advance(10);
    size.sent(waitedMs(i), inFlight);
  }
}

test("a queue that stands for a second adds a connection, up to the limit", async () => {
  await traffic(0.99, () => 50, 8);
  expect(size.connections).toBe(1);
  await traffic(0.01, () => 50, 8);
  expect(size.connections).toBe(2);
  await traffic(1, () => 50, 16);
  expect(size.connections).toBe(3);
  await traffic(10, () => 50, 32);
  expect(size.connections).toBe(4);
});

test("a queue that empties now and then is none", async () => {
  await traffic(30, (i) => (i % 50 === 0 ? 0 : 200), 8);
  expect(size.connections).toBe(1);
});

test("when half the room of one connection less would do for a minute, one is given up, down to the minimum", async () => {
  await traffic(3, () => 50, 8);
  expect(size.connections).toBe(4);
  // 7 requests in flight need 2 × 7 / 8, so 2 connections.
  await traffic(59, () => 0, 7);
  expect(size.connections).toBe(4);
  await traffic(1, () => 0, 7);
  expect(size.connections).toBe(3);
  await traffic(120, () => 0, 7);
  expect(size.connections).toBe(2);
  await traffic(120, () => 0, 4);
  expect(size.connections).toBe(1);
});

test("a minimum is kept from the start", async () => {
  size = new PoolSize({ ...bounds, minConnections: 2 }, clock);
  await traffic(300, () => 0, 1);
  expect(size.connections).toBe(2);
});
