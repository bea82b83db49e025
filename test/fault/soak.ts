/** `npm run soak -- --minutes N [--seed S] [--exactly-once] [--json]`: a long run under faults, and its report. */
import { parseArgs } from "node:util";
import { soak, type SoakOptions } from "./soak-run.ts";

const usage = `npm run soak -- [--minutes N] [--seed S] [--exactly-once] [--json]
  N  minutes after a warm-up of five; more than 0, 10 unless given
  S  a whole number; by chance unless given, and printed
`;

/** What the command line asks for; undefined when it makes no sense. */
function asked(): (Omit<SoakOptions, "onProgress"> & { readonly json: boolean }) | undefined {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "10" },
        seed: { type: "string", default: String(Date.now() % 2 ** 31) },
        "exactly-once": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
    if (!(minutes > 0 && minutes < Infinity && Number.isSafeInteger(seed))) return undefined;
    return { minutes, seed, exactlyOnce: values["exactly-once"], json: values.json };
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const options = asked();
  if (!options) {
    process.stderr.write(usage);
    return 2;
  }
  const onTerminal = process.stderr.isTTY;
  const onProgress = (line: string): void => void (onTerminal && process.stderr.write(`\r\u001b[K${line}`));
  const report = await soak({ ...options, onProgress });
  if (onTerminal) process.stderr.write("\n");
  if (options.json) process.stdout.write(`${JSON.stringify(report)}\n`);
  else for (const [name, value] of Object.entries(report)) process.stdout.write(`${name.padEnd(26)}${String(value)}\n`);
  return report.problems.length === 0 ? 0 : 1;
}

process.env["METADATA_SERVER_DETECTION"] = "none";
process.exitCode = await main();
