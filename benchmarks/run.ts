/** `npm run bench`: runs the benchmarks, prints their figures, and fails when a limit is missed. */
import { parseArgs } from "node:util";
import { arms, contestant } from "./arm.ts";
import { messagesPerCorpus, sizes, type Size } from "./corpus.ts";
import { benchmarkTranscoding, limit, type SizeFigures } from "./transcoding.ts";

const help = `Usage: npm run bench -- [options]

Transcoding: the CPU time from a message to its row, beside JSON.parse and beside other libraries.
Corpora: S 175 bytes, 8 columns; M 920 bytes, nested; L 8 KB, 60 columns; ${messagesPerCorpus} messages each.

  --size S|M|L   one corpus only; may be repeated
  --rounds N     rounds per arm, alternated; at least 5 for figures to quote (default 7)
  --json         one JSON object on standard output instead of tables
  --help

Exit status 1 when the transcoder costs more than ${limit.toFixed(1)} × JSON.parse of a string for any corpus.
`;

interface Options {
  readonly sizes: readonly Size[];
  readonly rounds: number;
  readonly json: boolean;
}

function readOptions(): Options | "help" {
  const { values } = parseArgs({
    options: {
      size: { type: "string", multiple: true },
      rounds: { type: "string", default: "7" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number, 1 or more");
  const wanted = values.size ?? sizes;
  const unknown = wanted.find((size) => !sizes.some((known) => known === size));
  if (unknown !== undefined) throw new Error(`--size takes ${sizes.join(", ")}; got something else`);
  return { sizes: sizes.filter((size) => wanted.includes(size)), rounds, json: values.json };
}

async function run(options: Options): Promise<boolean> {
  const results: SizeFigures[] = [];
  for (const size of options.sizes) {
    showProgress(`${size}: preparing`);
    const result = await benchmarkTranscoding(size, options.rounds, (done) =>
      showProgress(`${size}: round ${done} of ${options.rounds}`),
    );
    showProgress("");
    results.push(result);
    if (!options.json) process.stdout.write(`${table(result)}\n\n`);
  }
  const ok = results.every((result) => result.withinLimit);
  process.stdout.write(options.json ? `${asJson(results, options.rounds, ok)}\n` : `${verdict(results)}\n`);
  return ok;
}

/** One line that replaces the one before; only for a person who is watching. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function table({ size, bytesPerMessage, arms: figures }: SizeFigures): string {
  const heading = [`${size}, ${Math.round(bytesPerMessage)} bytes a message`, "µs CPU", "MB/s", "× JSON.parse"];
  const lines = figures.map(({ arm, cpuMicros, megabytesPerSecond, ratio }) => [
    arms.find(({ name }) => name === arm)!.title,
    cpuMicros.toFixed(2),
    megabytesPerSecond.toFixed(0),
    ratio.toFixed(2),
  ]);
  return aligned([heading, ...lines]);
}

/** Columns of equal width, the first to the left, numbers to the right. */
function aligned(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  const align = (cell: string, i: number): string => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!));
  return lines.map((line) => line.map(align).join("   ")).join("\n");
}

function verdict(results: readonly SizeFigures[]): string {
  const missed = results.filter((result) => !result.withinLimit).map(({ size }) => size);
  const bound = `the limit of ${limit.toFixed(1)} × JSON.parse of a string`;
  return missed.length === 0
    ? `Transcoding is within ${bound}.`
    : `Transcoding exceeds ${bound}: ${missed.join(", ")}.`;
}

function asJson(results: readonly SizeFigures[], rounds: number, ok: boolean): string {
  return JSON.stringify({ node: process.version, rounds, limit, contestant, ok, sizes: results });
}

try {
  const options = readOptions();
  if (options === "help") process.stdout.write(help);
  else process.exitCode = (await run(options)) ? 0 : 1;
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
