/** Runs arms against each other: a process each, one round each in turn, until all rounds are done. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Answer, Request } from "./arm-process.ts";
import type { ArmName } from "./arm.ts";
import type { Size } from "./corpus.ts";

export interface Samples {
  readonly arm: ArmName;
  readonly bytesPerMessage: number;
  /** CPU microseconds per message, one figure a round. */
  readonly microsPerMessage: readonly number[];
}

const armProcess = fileURLToPath(new URL("arm-process.ts", import.meta.url));

/**
 * @param corpusFile the messages, as `writeCorpus` has left them
 * @param progress is told how many rounds are done
 */
export async function runRounds(
  arms: readonly ArmName[],
  size: Size,
  corpusFile: string,
  rounds: number,
  progress: (done: number) => void,
): Promise<readonly Samples[]> {
  const runners: Runner[] = [];
  try {
    // One after the other: they would disturb each other's warming up.
    for (const arm of arms) runners.push(await Runner.start(arm, size, corpusFile));
    for (let round = 0; round < rounds; round++) {
      for (const runner of runners) await runner.round();
      progress(round + 1);
    }
    return runners.map((runner) => runner.samples);
  } finally {
    for (const runner of runners) runner.end();
  }
}

/** The process of one arm, seen from here. */
class Runner {
  readonly #child: ChildProcess;
  readonly #arm: ArmName;
  readonly #bytesPerMessage: number;
  readonly #micros: number[] = [];

  private constructor(child: ChildProcess, arm: ArmName, bytesPerMessage: number) {
    this.#child = child;
    this.#arm = arm;
    this.#bytesPerMessage = bytesPerMessage;
  }

  static async start(arm: ArmName, size: Size, corpusFile: string): Promise<Runner> {
    const child = fork(armProcess, [arm, size, corpusFile], {
      env: { ...process.env, METADATA_SERVER_DETECTION: "none" },
    });
    const ready = await nextAnswer(child, arm);
    if (ready.kind !== "ready") throw new Error(`${arm} answered before it was ready`);
    return new Runner(child, arm, ready.bytesPerMessage);
  }

  get samples(): Samples {
    return { arm: this.#arm, bytesPerMessage: this.#bytesPerMessage, microsPerMessage: this.#micros };
  }

  async round(): Promise<void> {
    this.#say("round");
    const answer = await nextAnswer(this.#child, this.#arm);
    if (answer.kind === "round") this.#micros.push(answer.microsPerMessage);
  }

  end(): void {
    if (this.#child.connected) this.#say("end");
  }

  #say(request: Request): void {
    this.#child.send(request);
  }
}

/** What the process says next; an error when it ends instead. */
async function nextAnswer(child: ChildProcess, arm: ArmName): Promise<Answer> {
  const done = new AbortController();
  const { signal } = done;
  try {
    const ended = once(child, "exit", { signal }).then(() => undefined);
    const said = once(child, "message", { signal }).then(([answer]) => answer as Answer);
    const answer = await Promise.race([said, ended]);
    if (!answer) throw new Error(`the process of ${arm} ended before it answered`);
    return answer;
  } finally {
    done.abort();
  }
}
