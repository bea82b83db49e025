/** Watches what the process asks of its servers, and how much memory it takes, while a trial runs. */
import type { World } from "./world.ts";

const pubsubMethods = ["StreamingPull", "Acknowledge", "ModifyAckDeadline", "Publish"] as const;
const bigqueryMethods = ["AppendRows", "tables.get"] as const;
export type WatchedMethod = (typeof pubsubMethods)[number] | (typeof bigqueryMethods)[number];

const sampleMs = 50;

export class RequestWatch {
  readonly #world: World;
  readonly #timer: NodeJS.Timeout;
  readonly #samples: { readonly atMs: number; readonly counts: ReadonlyMap<WatchedMethod, number> }[] = [];

  constructor(world: World) {
    this.#world = world;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sample();
  }

  /** Requests from the first sample to the last. */
  get totals(): ReadonlyMap<WatchedMethod, number> {
    return this.#samples.at(-1)!.counts;
  }

  get seconds(): number {
    return (this.#samples.at(-1)!.atMs - this.#samples[0]!.atMs) / 1000;
  }

  /**
   * The most requests of a method within one second, from `fromMs` to `untilMs` after the start of the watch. Counted from
   * sample to sample, no more than a second apart: what it counts has come within a second, for certain.
   */
  mostPerSecond(method: WatchedMethod, fromMs = 0, untilMs = Infinity): number {
    const start = this.#samples[0]!.atMs;
    const within = this.#samples.filter(({ atMs }) => atMs >= start + fromMs && atMs <= start + untilMs);
    let most = 0;
    let first = 0;
    for (const [i, sample] of within.entries()) {
      while (sample.atMs - within[first]!.atMs > 1000) first++;
      if (first < i) most = Math.max(most, sample.counts.get(method)! - within[first]!.counts.get(method)!);
    }
    return most;
  }

  #sample(): void {
    const { pubsub, bigquery } = this.#world;
    this.#world.measureMemory();
    const counts = new Map<WatchedMethod, number>([
      ...pubsubMethods.map((method) => [method, pubsub.faults.calls(method)] as const),
      ...bigqueryMethods.map((method) => [method, bigquery.faults.calls(method)] as const),
    ]);
    this.#samples.push({ atMs: performance.now(), counts });
  }
}
