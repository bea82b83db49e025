/** The benchmark of transcoding: from the bytes of a message to the bytes of a row, beside what others do. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arms, contestant, yardstick, type ArmName } from "./arm.ts";
import { writeCorpus, type Size } from "./corpus.ts";
import { runRounds, type Samples } from "./rounds.ts";

/** The most that the transcoder may cost, as a multiple of `JSON.parse` of a string. */
export const limit = 1;

export interface ArmFigures {
  readonly arm: ArmName;
  /** Median over the rounds, per message. */
  readonly cpuMicros: number;
  readonly megabytesPerSecond: number;
  /** Median of the rounds' own ratios to the yardstick: what slows the machine down for a while slows both. */
  readonly ratio: number;
}

export interface SizeFigures {
  readonly size: Size;
  readonly bytesPerMessage: number;
  readonly arms: readonly ArmFigures[];
  readonly withinLimit: boolean;
}

export async function benchmarkTranscoding(
  size: Size,
  rounds: number,
  progress: (done: number) => void,
): Promise<SizeFigures> {
  const samples = await samplesOf(size, rounds, progress);
  const base = samples.find(({ arm }) => arm === yardstick)!;
  const figures = samples.map((sample) => figuresOf(sample, base));
  const { ratio } = figures.find(({ arm }) => arm === contestant)!;
  return { size, bytesPerMessage: base.bytesPerMessage, arms: figures, withinLimit: ratio <= limit };
}

async function samplesOf(size: Size, rounds: number, progress: (done: number) => void): Promise<readonly Samples[]> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  try {
    const corpusFile = join(folder, `${size}.jsonl`);
    writeCorpus(size, corpusFile);
    const names = arms.map(({ name }) => name);
    return await runRounds(names, size, corpusFile, rounds, progress);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function figuresOf({ arm, bytesPerMessage, microsPerMessage }: Samples, base: Samples): ArmFigures {
  const cpuMicros = median(microsPerMessage);
  return {
    arm,
    cpuMicros,
    megabytesPerSecond: bytesPerMessage / cpuMicros,
    ratio: median(microsPerMessage.map((micros, round) => micros / base.microsPerMessage[round]!)),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
