/** Many trials, some at a time, and one report over all of them. */
import { runTrial } from "./trial.ts";
import type { TrialScript } from "./trial-script.ts";

export interface Scripted {
  /** The command that runs the script again. */
  readonly again: string;
  readonly script: TrialScript;
}

export interface Failure extends Scripted {
  readonly problems: readonly string[];
}

const counted = ["messages", "rows", "letters", "extraRows", "extraLetters", "restarts", "appends"] as const;

export class Campaign {
  readonly totals = Object.fromEntries(counted.map((name) => [name, 0])) as Record<(typeof counted)[number], number>;
  /** Why rows and letters were there more than once: cause → trials. */
  readonly causes: Record<string, number> = {};
  readonly failures: Failure[] = [];
  readonly #onProgress: (done: number, failed: number) => void;
  #done = 0;
  #rssMax = 0;
  #slowest = { again: "", seconds: 0 };

  constructor(onProgress: (done: number, failed: number) => void = () => undefined) {
    this.#onProgress = onProgress;
  }

  /** @param atOnce so many trials run side by side: they wait more than they work */
  async run(scripts: Iterable<Scripted>, atOnce: number): Promise<void> {
    const next = scripts[Symbol.iterator]();
    const work = async (): Promise<void> => {
      for (let each = next.next(); !each.done; each = next.next()) await this.#runOne(each.value);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  get report(): object {
    const { totals, causes, failures } = this;
    const rssMaxMB = Math.round(this.#rssMax / 2 ** 20);
    return { scripts: this.#done, failed: failures.length, ...totals, causes, rssMaxMB, slowest: this.#slowest };
  }

  async #runOne({ again, script }: Scripted): Promise<void> {
    const report = await runTrial(script);
    const figures = { ...report, appends: report.requests["AppendRows"]! };
    for (const name of counted) this.totals[name] += figures[name];
    for (const cause of report.causes) this.causes[cause] = (this.causes[cause] ?? 0) + 1;
    this.#rssMax = Math.max(this.#rssMax, report.rssMax);
    if (report.seconds > this.#slowest.seconds) this.#slowest = { again, seconds: Math.round(report.seconds) };
    if (report.problems.length > 0) this.failures.push({ again, problems: report.problems, script });
    this.#onProgress(++this.#done, this.failures.length);
  }
}
