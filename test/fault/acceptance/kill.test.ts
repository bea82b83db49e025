/**
 * SIGKILL at random moments of a long run, and a new process each time: no message is lost, and each one that is there
 * twice has its reason. The moments lie in the work, not in the time: a machine that is slow today shifts none of them into
 * the idle time before or after. `FAULT_SEED` repeats them.
 */
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { faultSeed } from "../../support/property-seed.ts";
import { choicesOf } from "../../support/random-choices.ts";
import { World, type WorldOptions } from "../world.ts";

const messages = 20_000;
const kills = 50;
/** Some 40 requests for the messages of one life, of which few are under way: a kill finds it at work. */
const pipeline = { batch: { maxRows: 10, maxDelay: "5ms" }, append: { maxInFlight: 4, maxConnections: 1 } };
const slowAppends = { method: "AppendRows", delayMs: 15 };
/** After the row at which the moment lies: acks follow a little later, and a kill may come between them as well. */
const longestPauseMs = 50;

interface Run {
  readonly world: World;
  /** Of each kill: messages that were written and not acked. */
  readonly atRisk: readonly number[];
}

/** Publishes all messages bit by bit and kills the process at moments of its work that chance chooses. */
async function run(options: WorldOptions): Promise<Run> {
  const world = await World.open(options);
  const choose = choicesOf(faultSeed);
  const atRisk: number[] = [];
  world.start();
  for (let life = 0; life <= kills; life++) {
    const until = Math.round((messages * (life + 1)) / (kills + 1));
    const kinds = Array.from({ length: until - world.ledger.entries.length }, () => "good" as const);
    world.publish(kinds.map((kind) => world.ledger.publish(kind)));
    // Every message that is not acked becomes a row in this life, if it lives long enough.
    const rows = world.rows + choose(0, world.unsettled);
    if (life === kills) break;
    await world.millrace.url();
    await written(world, rows);
    await pause(choose(0, longestPauseMs));
    atRisk.push(await world.kill());
  }
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 120_000);
  expect(await world.stop()).toBe(0);
  world.settleLedger();
  await world.close();
  return { world, atRisk };
}

async function written(world: World, rows: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (world.rows < rows) {
    if (performance.now() > deadline) throw new Error(`${world.rows} rows, not ${rows}: ${await world.situation()}`);
    await pause(1);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

interface Figures {
  readonly lost: number;
  readonly misplaced: number;
  /** Rows beyond the first of a message, for which there is no kill. */
  readonly unexplained: number;
  /** Kills that have hit messages that were written and not acked. */
  readonly hits: number;
}

function figures({ world, atRisk }: Run, what: string): Figures {
  const { lost, misplaced, extraRows } = world.ledger;
  const unexplained = extraRows.count - extraRows.ofKills;
  const hits = atRisk.filter((count) => count > 0);
  const killed = atRisk.reduce((sum, count) => sum + count, 0);
  process.stdout.write(
    `${what}: ${lost.length} lost, ${extraRows.count} duplicates, ${unexplained} of them without a reason; ` +
      `${hits.length} kills hit messages that were written and not yet acked, ${Math.max(...atRisk)} at most, ${killed} in all\n`,
  );
  return { lost: lost.length, misplaced: misplaced.length, unexplained, hits: hits.length };
}

const nothingWrong = { lost: 0, misplaced: 0, unexplained: 0 };

test(
  `${kills} kills, FAULT_SEED=${faultSeed}: nothing is lost; what is there twice was written and not yet acked at a kill`,
  { timeout: 600_000 },
  async () => {
    const result = await run({ pipeline, faults: { bigquery: [slowAppends] } });
    const { hits, ...wrong } = figures(result, `${messages} messages, ${kills} kills`);
    expect(wrong).toEqual(nothingWrong);
    // Otherwise the kills have hit nothing, and the test shows nothing.
    expect(hits).toBeGreaterThanOrEqual(kills / 2);
  },
);

test(
  `${kills} kills under exactlyOnce and an exactly-once subscription: lost answers double nothing, only the kills do`,
  { timeout: 600_000 },
  async () => {
    const result = await run({
      pipeline: { ...pipeline, delivery: "exactlyOnce", dedupe: { window: "10m", maxIds: 100_000 } },
      subscription: { enableExactlyOnceDelivery: true },
      faults: {
        bigquery: [{ method: "AppendRows", every: 9, delayMs: 15, disconnect: "after" }, slowAppends],
        pubsub: [
          { method: "Acknowledge", every: 4, status: "UNAVAILABLE", done: true },
          { method: "Acknowledge", every: 3, ackErrors: { code: "TRANSIENT_FAILURE_OTHER", every: 5 } },
        ],
      },
    });
    const cuts = Math.floor(result.world.bigquery.appendRequests / 9);
    const { hits, ...wrong } = figures(
      result,
      `exactlyOnce, ${messages} messages, ${kills} kills, ${cuts} lost answers`,
    );
    expect(wrong).toEqual(nothingWrong);
    expect(hits).toBeGreaterThanOrEqual(kills / 2);
    expect(cuts).toBeGreaterThan(kills);
  },
);
