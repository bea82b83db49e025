/**
 * Hours under load and faults. One process lives from the beginning to the end and shows its heap; a second one on the
 * same subscription is killed and started again and again.
 */
import type { FaultScript } from "../../src/emulator/faults.ts";
import { eventually } from "../support/eventually.ts";
import { type MillraceProcess, probed } from "../support/millrace-process.ts";
import { chance, type Choose, choicesOf } from "../support/random-choices.ts";
import { slopeOf } from "./least-squares.ts";
import { type Kind, refusedText } from "./ledger.ts";
import { complaintsOf } from "./trial.ts";
import { World } from "./world.ts";

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** `delivery: exactlyOnce`, an exactly-once subscription and `dedupe`. */
  readonly exactlyOnce: boolean;
  readonly onProgress: (line: string) => void;
}

export interface SoakReport {
  readonly seed: number;
  readonly seconds: number;
  readonly messages: number;
  readonly rows: number;
  readonly letters: number;
  readonly duplicateRows: number;
  readonly duplicateLetters: number;
  /** Of the second process. */
  readonly restarts: number;
  readonly rssMaxMB: number;
  /** The whole heap after a collection, once a minute, the warm-up included. */
  readonly heapMB: readonly number[];
  /** The part of it that is compiled code, for information. */
  readonly codeMB: readonly number[];
  /** What buffers have, beside the heap: payloads that are held, rows under way, pools. For information. */
  readonly buffersMB: readonly number[];
  /** Does not count: V8 compiles hot code for the first minutes, and buffers find their size, which is no leak. */
  readonly warmUpSeconds: number;
  /** Of the whole heap after a collection, by least squares, over all samples after the warm-up. */
  readonly heapSlopeMBPer10Minutes: number;
  /** Of the part that is compiled code, for information. */
  readonly codeSlopeMBPer10Minutes: number;
  readonly heapSamples: number;
  readonly problems: readonly string[];
}

/** Bytes of the heap after a collection. */
interface HeapSample {
  /** Since the start of the run. */
  readonly atMs: number;
  /** Compiled code included. */
  readonly heap: number;
  readonly code: number;
  /** Beside the heap. */
  readonly buffers: number;
}

type HeapPart = "heap" | "code" | "buffers";

const perSecond = 300;
const sliceMs = 50;
const probeEveryMs = 5000;
const probesPerMinute = 60_000 / probeEveryMs;
/**
 * Before the minutes that count: hot code is compiled, in rare paths too, and buffers find their size. At first faults
 * come more often, so that no path is new later; for the rest everything is as in the minutes that count.
 */
const warmUpMs = 300_000;
const manyFaultsMs = 180_000;
const warmUpFaults = 5;
const maxSlopeMB = 1;
const maxUnsettled = 20_000;
const settleTimeoutMs = 300_000;
const megabyte = 2 ** 20;

export async function soak({ minutes, seed, exactlyOnce, onProgress }: SoakOptions): Promise<SoakReport> {
  const choose = choicesOf(seed);
  const world = await World.open({
    faults: faultsOf(seed, warmUpFaults),
    nodeOptions: probed,
    subscription: { enableExactlyOnceDelivery: exactlyOnce },
    pipeline: {
      ...(exactlyOnce && { delivery: "exactlyOnce", dedupe: { window: "30s", maxIds: 100_000 } }),
      batch: { maxRows: 200 },
    },
  });
  try {
    const steady = await world.start().ready();
    const start = performance.now();
    const elapsed = (): number => performance.now() - start;
    const endMs = warmUpMs + minutes * 60_000;
    setTimeout(() => calmDown(world, seed), manyFaultsMs).unref();
    const heap: HeapSample[] = [];
    const replicas = killAndStart(world, choose, () => elapsed() < endMs);
    const probes = probeHeap(steady, heap, elapsed, () => elapsed() < endMs);
    while (elapsed() < endMs) {
      if (world.unsettled < maxUnsettled) publishSlice(world, choose);
      onProgress(progressLine(world, elapsed(), endMs, heap.at(-1)?.heap));
      await sleep(sliceMs);
    }
    const [restarts] = await Promise.all([replicas, probes]);
    world.pubsub.faults.replace([]);
    const problems = await finish(world);
    problems.push(...complaintsOf(steady));
    return reportOf(world, { seed, seconds: elapsed() / 1000, restarts, heap, problems });
  } finally {
    await world.close();
  }
}

/** Every kind of failure, now and then, for as long as it takes. */
function faultsOf(seed: number, often = 1): FaultScript {
  const rowErrorsContaining = { bytes: Buffer.from(refusedText).toString("hex"), message: "Not wanted", atMost: 1 };
  const append = { method: "AppendRows", seed, rowErrorsContaining };
  return {
    bigquery: [
      { ...append, probability: 0.01 * often, status: "UNAVAILABLE" },
      { ...append, probability: 0.01 * often, disconnect: "after" },
      { ...append, probability: 0.01 * often, reset: "before" },
      { ...append, probability: 0.01 * often, error: { status: "INTERNAL", message: "Scripted refusal" } },
      { ...append, probability: 0.02 * often, delayMs: 500 },
      { ...append, probability: 0.01 * often, goaway: true },
      { method: "AppendRows", rowErrorsContaining },
      { method: "tables.get", seed, probability: 0.1 * often, status: "UNAVAILABLE" },
    ],
    pubsub: [
      { method: "StreamingPull.deliver", seed, probability: 0.005 * often, status: "UNAVAILABLE", done: true },
      { method: "StreamingPull.deliver", seed, probability: 0.002 * often, disconnect: "after" },
      { method: "Acknowledge", seed, probability: 0.02 * often, status: "UNAVAILABLE" },
      { method: "Acknowledge", seed, probability: 0.01 * often, status: "DEADLINE_EXCEEDED", done: true },
      { method: "ModifyAckDeadline", seed, probability: 0.05 * often, status: "UNAVAILABLE" },
      { method: "Publish", seed, probability: 0.05 * often, status: "UNAVAILABLE" },
    ],
  };
}

function calmDown(world: World, seed: number): void {
  const { pubsub, bigquery } = faultsOf(seed);
  world.pubsub.faults.replace(pubsub);
  world.bigquery.faults.replace(bigquery);
}

function publishSlice(world: World, choose: Choose): void {
  const kinds = Array.from({ length: (perSecond * sliceMs) / 1000 }, (): Kind => {
    if (chance(choose, 1)) return "unreadable";
    return chance(choose, 1) ? "refused" : "good";
  });
  world.publish(kinds.map((kind) => world.ledger.publish(kind)));
}

/** @returns how often the second process was started again */
async function killAndStart(world: World, choose: Choose, goesOn: () => boolean): Promise<number> {
  let restarts = 0;
  for (; goesOn(); restarts++) {
    const replica = world.start();
    const untilMs = performance.now() + choose(5000, 30_000);
    while (goesOn() && performance.now() < untilMs) await sleep(200);
    await replica.url();
    if (chance(choose, 50)) await world.cutOff(replica);
    else await replica.stop();
  }
  return restarts;
}

async function probeHeap(
  steady: MillraceProcess,
  heap: HeapSample[],
  elapsed: () => number,
  goesOn: () => boolean,
): Promise<void> {
  while (goesOn()) {
    const { heapUsed, codeUsed, external } = await steady.probe();
    heap.push({ atMs: elapsed(), heap: heapUsed, code: codeUsed, buffers: external });
    await sleep(probeEveryMs);
  }
}

/** Waits until everything is settled, and ends what still runs. @returns what went wrong */
async function finish(world: World): Promise<string[]> {
  const problems: string[] = [];
  const settled = (): true | undefined => (world.unsettled === 0 ? true : undefined);
  await eventually("every message is settled", settled, settleTimeoutMs).catch((error: Error) => {
    problems.push(error.message);
  });
  world.measureMemory();
  for (const millrace of world.processes.filter(({ running }) => running)) {
    const code = await millrace.stop();
    if (code !== 0) problems.push(`a process ended with ${code} after SIGTERM`);
  }
  world.settleLedger();
  return problems;
}

function reportOf(
  { ledger, rssMax }: World,
  run: Pick<SoakReport, "seed" | "seconds" | "restarts"> & {
    readonly heap: readonly HeapSample[];
    readonly problems: readonly string[];
  },
): SoakReport {
  const { heap, seed, seconds, restarts } = run;
  const warm = heap.filter(({ atMs }) => atMs >= warmUpMs);
  const slope = slopePer10Minutes(warm, "heap");
  const problems = [...run.problems];
  if (ledger.lost.length > 0) problems.push(`${ledger.lost.length} messages are lost`);
  if (ledger.misplaced.length > 0) problems.push(`${ledger.misplaced.length} messages are at the wrong place`);
  if (slope > maxSlopeMB) problems.push(`the heap grows by ${slope.toFixed(2)} MB in 10 minutes`);
  return {
    seed,
    seconds: Math.round(seconds),
    messages: ledger.entries.length,
    rows: ledger.entries.filter(({ rows }) => rows > 0).length,
    letters: ledger.entries.filter(({ letters }) => letters > 0).length,
    duplicateRows: ledger.extraRows.count,
    duplicateLetters: ledger.extraLetters.count,
    restarts,
    rssMaxMB: Math.round(rssMax / megabyte),
    heapMB: everyMinute(heap, "heap"),
    codeMB: everyMinute(heap, "code"),
    buffersMB: everyMinute(heap, "buffers"),
    warmUpSeconds: warmUpMs / 1000,
    heapSlopeMBPer10Minutes: Number(slope.toFixed(2)),
    codeSlopeMBPer10Minutes: Number(slopePer10Minutes(warm, "code").toFixed(2)),
    heapSamples: warm.length,
    problems,
  };
}

function slopePer10Minutes(samples: readonly HeapSample[], part: HeapPart): number {
  return (slopeOf(samples.map((sample) => ({ x: sample.atMs, y: sample[part] }))) * 600_000) / megabyte;
}

function everyMinute(samples: readonly HeapSample[], part: HeapPart): number[] {
  const rounded = samples.map((sample) => Number((sample[part] / megabyte).toFixed(1)));
  return rounded.filter((_, i) => i % probesPerMinute === 0);
}

function progressLine(world: World, elapsedMs: number, endMs: number, heap = 0): string {
  const seconds = (ms: number): number => Math.round(ms / 1000);
  return `${seconds(elapsedMs)} of ${seconds(endMs)} s, ${world.ledger.entries.length} messages, ${world.rows} rows, ${world.unsettled} unsettled, heap ${(heap / megabyte).toFixed(1)} MB`;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
