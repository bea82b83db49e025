/**
 * SIGKILL at random moments of a long run, and a new process each time: no message is lost, and each one that is there
 * twice has its reason. `FAULT_SEED` repeats the moments.
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
const longestMomentMs = 250;

/** Publishes all messages bit by bit and kills the process at moments of its life that chance chooses. */
async function run(options: WorldOptions): Promise<World> {
  const world = await World.open(options);
  const choose = choicesOf(faultSeed);
  world.start();
  for (let life = 0; life <= kills; life++) {
    const until = Math.round((messages * (life + 1)) / (kills + 1));
    const kinds = Array.from({ length: until - world.ledger.entries.length }, () => "good" as const);
    world.publish(kinds.map((kind) => world.ledger.publish(kind)));
    if (life === kills) break;
    await world.millrace.url();
    await new Promise((resolve) => {
      setTimeout(resolve, choose(0, longestMomentMs));
    });
    await world.kill();
  }
  await eventually("every message is settled", () => (world.unsettled === 0 ? true : undefined), 120_000);
  expect(await world.stop()).toBe(0);
  world.settleLedger();
  await world.close();
  return world;
}

function figures({ ledger }: World): { readonly killed: number; readonly duplicates: number; readonly cutOff: number } {
  const { count, ofKills } = ledger.extraRows;
  const killed = ledger.entries.reduce((sum, { cutOff }) => sum + cutOff, 0);
  return { killed, duplicates: count, cutOff: ofKills };
}

test(
  `${kills} kills, FAULT_SEED=${faultSeed}: nothing is lost; what is there twice was written and not yet acked at a kill`,
  { timeout: 600_000 },
  async () => {
    const world = await run({ pipeline, faults: { bigquery: [slowAppends] } });
    const { killed, duplicates, cutOff } = figures(world);
    process.stdout.write(
      `${messages} messages, ${kills} kills: 0 lost, ${duplicates} duplicates, of ${killed} written and not yet acked at a kill\n`,
    );
    expect(world.ledger.lost.length).toBe(0);
    expect(world.ledger.misplaced.length).toBe(0);
    expect(duplicates).toBe(cutOff);
    // Otherwise no kill has hit anything, and the test shows nothing.
    expect(killed).toBeGreaterThan(kills);
  },
);

test(
  `${kills} kills under exactlyOnce and an exactly-once subscription: lost answers double nothing, only the kills do`,
  { timeout: 600_000 },
  async () => {
    const world = await run({
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
    const { killed, duplicates, cutOff } = figures(world);
    const cuts = Math.floor(world.bigquery.appendRequests / 9);
    process.stdout.write(
      `exactlyOnce, ${messages} messages, ${kills} kills, ${cuts} lost answers: 0 lost, ${duplicates} duplicates, of ${killed} written and not yet acked at a kill\n`,
    );
    expect(world.ledger.lost.length).toBe(0);
    expect(world.ledger.misplaced.length).toBe(0);
    expect(duplicates).toBe(cutOff);
    expect(cuts).toBeGreaterThan(kills);
  },
);
