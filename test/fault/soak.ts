/** `npm run soak -- --minutes N [--seed S] [--exactly-once] [--json]`: a long run under faults, and its report. */
import { parseArgs } from "node:util";
import { soak } from "./soak-run.ts";

process.env["METADATA_SERVER_DETECTION"] = "none";
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 2 ** 31) },
    "exactly-once": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const onTerminal = process.stderr.isTTY;
const report = await soak({
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  exactlyOnce: values["exactly-once"],
  onProgress: (line) => void (onTerminal && process.stderr.write(`\r\u001b[K${line}`)),
});
if (onTerminal) process.stderr.write("\n");
if (values.json) process.stdout.write(`${JSON.stringify(report)}\n`);
else for (const [name, value] of Object.entries(report)) process.stdout.write(`${name.padEnd(26)}${String(value)}\n`);
process.exitCode = report.problems.length === 0 ? 0 : 1;
