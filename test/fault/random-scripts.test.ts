/**
 * The real command under scripts of faults by chance.
 *
 * `FAULT_SEED` is the first script's seed, the others have the numbers after it; `FAULT_COUNT` says how many there are.
 * `FAULT_SCRIPT` names a file with one script that is run instead: what a failure prints, or a part of it.
 */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { faultSeed } from "../support/property-seed.ts";
import { Campaign, type Scripted } from "./campaign.ts";
import { randomScript } from "./random-script.ts";
import { quietScript, type TrialScript } from "./trial-script.ts";

const file = process.env["FAULT_SCRIPT"];
const count = file === undefined ? Number(process.env["FAULT_COUNT"] ?? 8) : 1;
const atOnce = Number(process.env["FAULT_AT_ONCE"] ?? availableParallelism() * 2);

test(
  `${count} scripts, FAULT_SEED=${faultSeed}: nothing is lost, nothing is where it should not be, nothing spins`,
  { timeout: 120_000 + count * 30_000 },
  async () => {
    expect(count, "FAULT_COUNT is a number above 0").toBeGreaterThan(0);
    const campaign = new Campaign(showProgress);
    await campaign.run(file === undefined ? randomScripts() : [scriptOf(file)], atOnce);
    for (const line of [campaign.report, ...campaign.failures]) process.stdout.write(`${JSON.stringify(line)}\n`);
    expect(campaign.failures).toEqual([]);
    const { rows, letters, messages } = campaign.totals;
    expect(rows + letters).toBe(messages);
  },
);

function* randomScripts(): Generator<Scripted> {
  for (let seed = faultSeed; seed < faultSeed + count; seed++) {
    const again = `FAULT_SEED=${seed} FAULT_COUNT=1 npm run test:fault -- random-scripts`;
    yield { again, script: randomScript(seed) };
  }
}

function scriptOf(path: string): Scripted {
  const script = JSON.parse(readFileSync(path, "utf8")) as Partial<TrialScript>;
  const again = `FAULT_SCRIPT=${path} npm run test:fault -- random-scripts`;
  return { again, script: { ...quietScript, ...script } };
}

function showProgress(done: number, failed: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${count} scripts, ${failed} failed `);
}
