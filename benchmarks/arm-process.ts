/**
 * The process of one arm: `node arm-process.ts ARM SIZE CORPUS_FILE`. It prepares the arm, checks its first results against the slow
 * path, warms up, and then does one round whenever its parent asks, answering with the CPU time per message.
 */
import { isDeepStrictEqual } from "node:util";
import { slowTranscode } from "../test/support/slow-path.ts";
import { messageType, readRow, rowShape, writeRow, type Row } from "../test/support/slow-row.ts";
import { prepareArm, type ArmName } from "./arm.ts";
import { defaultOptions } from "./arms/transcoder.ts";
import { readCorpus, type Corpus, type Size } from "./corpus.ts";

/** What the parent says. */
export type Request = "round" | "end";

/** What the parent hears: once `ready`, then one `round` for each that it asks for. */
export type Answer =
  | { readonly kind: "ready"; readonly bytesPerMessage: number }
  | { readonly kind: "round"; readonly microsPerMessage: number };

const checkedMessages = 200;

/** CPU time that a round takes at least, in microseconds: much more than one collection of garbage. */
const roundMicros = 300_000;
/** Until the compiler has settled. Also, every message comes once: the first meeting with a new shape of object is dear. */
const warmUpMicros = 1_000_000;

const [name, size, file] = process.argv.slice(2) as [ArmName, Size, string];
const corpus = readCorpus(size, file);
const arm = await prepareArm(name, corpus);
let nextPart = 0;

checkResults();
work(warmUpMicros, corpus.payloads.length);
const bytes = corpus.payloads.reduce((sum, payload) => sum + payload.length, 0);
answer({ kind: "ready", bytesPerMessage: bytes / corpus.payloads.length });

process.on("message", (request: Request) => {
  if (request === "end") process.disconnect();
  else answer({ kind: "round", microsPerMessage: work(roundMicros, 1) });
});

function answer(message: Answer): void {
  process.send!(message);
}

/** A benchmark of wrong results would be worth nothing. */
function checkResults(): void {
  const expected = arm.json ? corpus.payloads.slice(0, checkedMessages).map(String) : slowRows(corpus);
  const actual = arm.json?.(checkedMessages) ?? arm.rows(checkedMessages);
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${name} gives wrong results for corpus ${size}`);
}

function slowRows({ table, payloads }: Corpus): readonly Row[] {
  const type = messageType(rowShape(table, "null"));
  return payloads.slice(0, checkedMessages).map((data) => {
    const envelope = { messageId: "", publishTimeMicros: 0n, attributes: new Map<string, string>(), orderingKey: "" };
    const result = slowTranscode(table, defaultOptions, { data, ...envelope });
    if (!("row" in result)) throw new Error(`corpus ${size} has a message that is refused: ${result.code}`);
    return readRow(type, writeRow(type, result.row));
  });
}

/**
 * Works for at least so many microseconds of CPU time (user and system, threads of the garbage collector and the
 * compiler included) and so many messages. Goes on in the corpus where it stopped before.
 *
 * @returns microseconds per message
 */
function work(micros: number, leastMessages: number): number {
  const before = process.cpuUsage();
  let messages = 0;
  for (;;) {
    arm.run(nextPart);
    messages += corpus.parts[nextPart]!.length;
    nextPart = (nextPart + 1) % corpus.parts.length;
    const { user, system } = process.cpuUsage(before);
    if (user + system >= micros && messages >= leastMessages) return (user + system) / messages;
  }
}
