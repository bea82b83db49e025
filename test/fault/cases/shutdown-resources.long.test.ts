/** Cases that users of other consumers have reported: memory and connections over a long time. */
import { readdirSync, readlinkSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { type MillraceProcess, probed } from "../../support/millrace-process.ts";
import { World } from "../world.ts";

async function opened(options: Parameters<typeof World.open>[0]): Promise<World> {
  const world = await World.open(options);
  onTestFinished(() => world.close());
  return world;
}

function socketsOf({ pid }: MillraceProcess): number {
  const links = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.startsWith("socket:")).length;
}

test("sr-03 Memory grows with each connection or reconnect", { timeout: 480_000 }, async () => {
  const messages = 100_000;
  const world = await opened({
    nodeOptions: probed,
    pipeline: { batch: { maxRows: 100 }, append: { maxInFlight: 1, maxConnections: 1 } },
    // Answered, and then ended: every request of 100 rows has a connection of its own.
    faults: { bigquery: [{ method: "AppendRows", every: 2, status: "ABORTED", message: "Connection is closed" }] },
  });
  const millrace = await world.start().ready();
  const heaps: number[] = [];
  const sockets: number[] = [];
  for (let tenth = 0; tenth < 10; tenth++) {
    world.publish(Array.from({ length: messages / 10 }, () => world.ledger.publish("good")));
    await eventually("a tenth is settled", () => (world.unsettled === 0 ? true : undefined), 60_000);
    heaps.push((await millrace.probe()).heapUsed);
    sockets.push(socketsOf(millrace));
  }
  const connections = Math.floor(world.bigquery.appendRequests / 2);
  expect(await world.stop()).toBe(0);
  const [first, last] = [heaps[0]!, heaps.at(-1)!];
  process.stdout.write(
    `sr-03: ${connections} connections ended; heap ${(first / 2 ** 20).toFixed(1)} MB after a tenth, ${(last / 2 ** 20).toFixed(1)} MB at the end; sockets ${sockets.join(" ")}\n`,
  );
  world.settleLedger();
  expect(world.ledger.lost.length).toBe(0);
  expect(connections).toBeGreaterThanOrEqual(900);
  expect(last).toBeLessThan(first * 1.2);
  expect(Math.max(...sockets)).toBeLessThanOrEqual(Math.min(...sockets) + 1);
  expect(millrace.stderr).not.toContain("MaxListenersExceededWarning");
});

test("sr-04 Killed for memory despite flow control", { timeout: 480_000 }, async () => {
  const messages = 400;
  const world = await opened({
    nodeOptions: ["--max-old-space-size=384"],
    columns: [
      { name: "id", type: "INT64" },
      { name: "name", type: "STRING" },
    ],
    pipeline: { pull: { maxOutstandingBytes: "50MB" } },
    faults: { bigquery: [{ method: "AppendRows", delayMs: 1000 }] },
  });
  const name = "x".repeat(5_000_000);
  await world.start().ready();
  for (let i = 0; i < messages; i += 10) {
    world.publish(Array.from({ length: 10 }, () => world.ledger.publish("good", "", { name })));
    await eventually("most is settled", () => (world.unsettled <= 20 ? true : undefined), 60_000);
    world.measureMemory();
  }
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 60_000);
  expect(await world.stop()).toBe(0);
  const rss = Math.round(world.rssMax / 2 ** 20);
  process.stdout.write(`sr-04: RSS at most ${rss} MB\n`);
  expect(world.rows).toBe(messages);
  expect(rss).toBeLessThan(512);
});
