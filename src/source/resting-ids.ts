/** Ack ids that failed alone, until it is time to try them again: those that failed as often as each other go together. */
import type { Clock, Timer } from "../lib/clock.ts";
import { type BackoffBounds, backoffMs } from "../lib/retry.ts";
import type { AckDraft, PlacedId } from "./ack-draft.ts";

export interface RestingIdsOptions {
  readonly clock: Clock;
  readonly random: (() => number) | undefined;
  readonly newDraft: (tries: number) => AckDraft;
  /** Takes ids that have rested. */
  readonly rested: (draft: AckDraft) => void;
}

interface Resting {
  readonly draft: AckDraft;
  readonly timer: Timer;
}

const bounds: BackoffBounds = { initialMs: 1000, maxMs: 64_000 };

export class RestingIds {
  readonly #options: RestingIdsOptions;
  /** By the number of tries. */
  readonly #resting = new Map<number, Resting>();

  constructor(options: RestingIdsOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#resting.size === 0;
  }

  /** @param tries how often it was tried in vain */
  add(id: PlacedId, tries: number): void {
    if (this.#after(tries).add(id)) return;
    this.#wake(tries);
    this.#after(tries).add(id);
  }

  /** All of them have rested. */
  wakeAll(): void {
    for (const tries of this.#resting.keys()) this.#wake(tries);
  }

  #after(tries: number): AckDraft {
    const known = this.#resting.get(tries);
    if (known) return known.draft;
    const { clock, random, newDraft } = this.#options;
    const draft = newDraft(tries);
    const timer = clock.setTimer(() => this.#wake(tries), backoffMs(tries - 1, bounds, random));
    this.#resting.set(tries, { draft, timer });
    return draft;
  }

  #wake(tries: number): void {
    const { draft, timer } = this.#resting.get(tries)!;
    timer.cancel();
    this.#resting.delete(tries);
    this.#options.rested(draft);
  }
}
