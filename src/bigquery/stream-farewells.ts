/** Finalizes write streams at the end of their way. Nothing depends on it: BigQuery forgets streams that nobody uses. */
import type { Logger } from "pino";
import { type Clock, pause } from "../lib/clock.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { WriteStreamCalls } from "./write-stream-calls.ts";

export interface StreamFarewellsOptions {
  readonly calls: WriteStreamCalls;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: AppendObserver;
}

export class StreamFarewells {
  readonly #options: StreamFarewellsOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: StreamFarewellsOptions) {
    this.#options = options;
  }

  /** @param confirmed rows of the stream that BigQuery has confirmed; undefined when some are in doubt */
  say(writeStream: string, confirmed: number | undefined): void {
    const work = this.#finalize(writeStream, confirmed).finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  /** Waits for those under way, but not for long. */
  async close(withinMs: number): Promise<void> {
    const enough = new AbortController();
    const all = Promise.all(this.#underWay).then(() => enough.abort());
    await Promise.race([all, pause(this.#options.clock, withinMs, enough.signal)]);
    this.#closing.abort();
  }

  async #finalize(writeStream: string, confirmed: number | undefined): Promise<void> {
    const { calls, observer, log } = this.#options;
    const result = await calls.finalize(writeStream, this.#closing.signal);
    if ("failure" in result) return;
    observer.writeStream("finalized");
    if (confirmed === undefined || result.value === confirmed) return;
    const counts = { writeStream, confirmed, rows: result.value };
    log.error(counts, "a write stream has another number of rows than BigQuery has confirmed");
  }
}
