/** BigQuery is away for 90 s of real time while messages keep coming. */
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { RequestWatch } from "../request-watch.ts";
import { World } from "../world.ts";

const perSecond = 1000;
const beforeMs = 10_000;
const outageMs = 90_000;
const afterMs = 10_000;
const text = "x".repeat(1000);

test(
  "90 s without BigQuery under load: nothing lost, leases kept, memory bounded, at full speed within 10 s",
  { timeout: 240_000 },
  async () => {
    const world = await World.open({ pipeline: { pull: { maxOutstandingBytes: "20MiB" } } });
    await world.start().ready();
    const watch = new RequestWatch(world);
    const written: { readonly atMs: number; readonly rows: number }[] = [];
    const start = performance.now();
    const now = (): number => performance.now() - start;
    const sampler = setInterval(() => written.push({ atMs: now(), rows: world.rows }), 250);

    let published = 0;
    const publisher = setInterval(() => {
      const due = Math.floor((now() * perSecond) / 1000) - published;
      published += due;
      world.publish(Array.from({ length: due }, () => world.ledger.publish("good", "", { name: text })));
    }, 50);
    await until(beforeMs);
    const outageBegan = now();
    world.bigquery.faults.replace([
      { method: "AppendRows", status: "UNAVAILABLE", untilMs: outageMs },
      { method: "tables.get", status: "UNAVAILABLE", untilMs: outageMs },
    ]);
    await until(outageBegan + outageMs);
    const outageEnded = now();
    await until(outageEnded + afterMs);
    clearInterval(publisher);
    clearInterval(sampler);
    const caughtUp = await eventually("every message is written", () => (world.unsettled === 0 ? now() : undefined));
    watch.stop();
    const deliveries = world.pubsub.faults.calls("StreamingPull.message");
    expect(await world.stop()).toBe(0);
    world.settleLedger();

    const atEnd = written.findLast(({ atMs }) => atMs < outageEnded)!.rows;
    const full = written.find(({ atMs, rows }) => atMs > outageEnded && rows > atEnd + perSecond);
    const extensions = watch.mostPerSecond("ModifyAckDeadline", outageBegan, outageEnded);
    process.stdout.write(
      `${published} messages; at most ${extensions} extension requests a second; RSS at most ${Math.round(world.rssMax / 2 ** 20)} MB; ` +
        `${full ? ((full.atMs - outageEnded) / 1000).toFixed(1) : "more than 10"} s after the outage a second's messages were written, ` +
        `${((caughtUp - outageEnded) / 1000).toFixed(1)} s after it everything\n`,
    );
    await world.close();
    expect(world.ledger.lost.length).toBe(0);
    expect(world.ledger.misplaced.length).toBe(0);
    expect(world.ledger.extraRows.count).toBe(0);
    expect(deliveries).toBe(published);
    expect(extensions).toBeLessThanOrEqual(1);
    expect(caughtUp - outageEnded).toBeLessThan(afterMs + 2000);
    expect((full?.atMs ?? Infinity) - outageEnded).toBeLessThan(afterMs);
    expect(world.rssMax).toBeLessThan(documentedBound);

    async function until(ms: number): Promise<void> {
      await new Promise((resolve) => {
        setTimeout(resolve, ms - now());
      });
    }
  },
);

/** docs/operations.md: Node and libraries, what may be held, and the rows of it. */
const documentedBound = 300 * 2 ** 20;
