/** BigQuery, or the dead-letter topic, is away in real time while messages keep coming. */
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { documentedBound } from "../documented-memory.ts";
import { RequestWatch } from "../request-watch.ts";
import { World } from "../world.ts";

const perSecond = 1000;
const beforeMs = 10_000;
const outageMs = 90_000;
const fullSpeedWithinMs = 10_000;
/** Messages come for so long after the outage: full speed has to last. */
const afterMs = 15_000;
const text = "x".repeat(1000);
/** A tenth of the budget of a pipeline by default: the outage fills it in seconds. */
const pull = { maxOutstandingBytes: 20 * 2 ** 20, maxOutstandingMessages: 20_000, streams: 1 };
const pipeline = { pull: { ...pull, maxOutstandingBytes: "20MiB" } };
const bound = documentedBound({ ...pull, maxRequestBytes: 10_000_000 });

interface Sample {
  readonly atMs: number;
  readonly published: number;
  readonly rows: number;
}

test(
  "90 s without BigQuery under load: nothing lost, leases kept, memory bounded, at full speed within 10 s",
  { timeout: 300_000 },
  async () => {
    const world = await World.open({ pipeline });
    await world.start().ready();
    const watch = new RequestWatch(world);
    const samples: Sample[] = [];
    const start = performance.now();
    const now = (): number => performance.now() - start;

    let published = 0;
    const sampler = setInterval(() => samples.push({ atMs: now(), published, rows: world.rows }), 100);
    const publisher = setInterval(() => {
      const due = Math.floor((now() * perSecond) / 1000) - published;
      published += due;
      world.publish(Array.from({ length: due }, () => world.ledger.publish("good", "", { name: text })));
    }, 50);
    await until(beforeMs);
    const outageBegan = now();
    const rssBefore = world.rssMax;
    world.bigquery.faults.replace([
      { method: "AppendRows", status: "UNAVAILABLE", untilMs: outageMs },
      { method: "tables.get", status: "UNAVAILABLE", untilMs: outageMs },
    ]);
    await until(outageBegan + outageMs);
    const outageEnded = now();
    const rssInOutage = world.rssMax;
    await until(outageEnded + afterMs);
    clearInterval(publisher);
    const settled = (): number | undefined => (world.unsettled === 0 ? now() : undefined);
    const caughtUp = await eventually("every message is written", settled, 60_000);
    clearInterval(sampler);
    watch.stop();
    const deliveries = world.pubsub.faults.calls("StreamingPull.message");
    expect(await world.stop()).toBe(0);
    world.settleLedger();

    const fullSpeedAfter = fullSpeedFrom(samples, outageEnded) - outageEnded;
    const extensions = watch.mostPerSecond("ModifyAckDeadline", outageBegan, outageEnded);
    process.stdout.write(
      `${published} messages; at most ${extensions} extension requests a second; ` +
        `RSS at most ${megabytes(rssBefore)} MB before the outage, ${megabytes(rssInOutage)} MB in it, ${megabytes(world.rssMax)} MB in all, documented bound ${megabytes(bound)} MB; ` +
        `full speed from ${seconds(fullSpeedAfter)} s after the outage on, everything written ${seconds(caughtUp - outageEnded)} s after it; ` +
        `rows in each second after it: ${ratesAfter(samples, outageEnded).join(" ")}\n`,
    );
    await world.close();
    expect(world.ledger.lost.length).toBe(0);
    expect(world.ledger.misplaced.length).toBe(0);
    expect(world.ledger.extraRows.count).toBe(0);
    expect(deliveries).toBe(published);
    expect(extensions).toBeLessThanOrEqual(1);
    expect(fullSpeedAfter).toBeLessThan(fullSpeedWithinMs);
    expect(world.rssMax).toBeLessThan(bound);

    async function until(ms: number): Promise<void> {
      await pause(ms - now());
    }
  },
);

/**
 * When the pipeline was at full speed again: the second before brought at least as many rows as messages come, and from then
 * on, as long as more than a second's messages wait, rows were never behind what has come since.
 */
function fullSpeedFrom(samples: readonly Sample[], outageEnded: number): number {
  const offered = (from: Sample, to: Sample): number => (perSecond * (to.atMs - from.atMs)) / 1000;
  const after = samples.filter(({ atMs }) => atMs >= outageEnded);
  const caughtUp = after.findIndex(({ published, rows }, i) => i > 0 && published - rows <= perSecond);
  const behind = after.slice(0, caughtUp === -1 ? undefined : caughtUp + 1);
  const start = behind.find((sample, i) => {
    const secondBefore = behind.findLast(({ atMs }) => atMs <= sample.atMs - 1000);
    if (!secondBefore || sample.rows - secondBefore.rows < offered(secondBefore, sample)) return false;
    return behind.slice(i).every((later) => later.rows - sample.rows >= offered(sample, later));
  });
  return start?.atMs ?? Infinity;
}

/** Rows in each second after a moment. */
function ratesAfter(samples: readonly Sample[], fromMs: number): number[] {
  const rowsAt = (ms: number): number => samples.findLast(({ atMs }) => atMs <= ms)!.rows;
  const whole = Math.floor((samples.at(-1)!.atMs - fromMs) / 1000);
  return Array.from({ length: whole }, (_, i) => rowsAt(fromMs + 1000 * (i + 1)) - rowsAt(fromMs + 1000 * i));
}

test(
  "20 s without the dead-letter topic: every letter is published, memory is bounded",
  { timeout: 150_000 },
  async () => {
    const letters = 20_000;
    const world = await World.open({ pipeline });
    await world.start().ready();
    const watch = new RequestWatch(world);
    world.pubsub.faults.replace([{ method: "Publish", status: "UNAVAILABLE", untilMs: 20_000 }]);
    for (let i = 0; i < letters; i += 1000) {
      world.publish(Array.from({ length: 1000 }, () => world.ledger.publish("unreadable", "", { name: text })));
    }
    await pause(20_000);
    const held = world.subscription.outstanding;
    await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 60_000);
    watch.stop();
    expect(await world.stop()).toBe(0);
    world.settleLedger();
    await world.close();
    process.stdout.write(
      `${letters} letters, ${held} held while none could be published: RSS at most ${megabytes(world.rssMax)} MB, documented bound ${megabytes(bound)} MB\n`,
    );
    const { lost, misplaced, extraLetters } = world.ledger;
    expect([lost.length, misplaced.length, extraLetters.count]).toEqual([0, 0, 0]);
    // Five eighths of the budget, and the response that overshoots it; each message has somewhat more than its text.
    expect(held).toBeGreaterThan((pull.maxOutstandingBytes * 5) / 8 / 1200);
    expect(held * text.length).toBeLessThan((pull.maxOutstandingBytes * 5) / 8 + 4 * 2 ** 20 + 1000 * text.length);
    expect(world.rssMax).toBeLessThan(bound);
  },
);

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
