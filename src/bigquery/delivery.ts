/** The messages of one `deliver` call on their way: how many have no fate yet, and what became of the exceptions. */
import type { Refusal } from "../errors.ts";
import { type MessageBatch, Outcomes } from "../message.ts";

export class Delivery {
  readonly batch: MessageBatch;
  /** Aborted when the caller gives the messages up. */
  readonly signal: AbortSignal;
  /** Resolves when every message has its fate. */
  readonly outcomes: Promise<Outcomes>;
  readonly #outcomes: Outcomes;
  readonly #resolve: (outcomes: Outcomes) => void;
  readonly #onSettled: (delivery: Delivery) => void;
  #unresolved: number;
  #abandoned = false;

  constructor(batch: MessageBatch, signal: AbortSignal, onSettled: (delivery: Delivery) => void) {
    this.batch = batch;
    this.signal = signal;
    this.#outcomes = new Outcomes(batch.length);
    this.#unresolved = batch.length;
    this.#onSettled = onSettled;
    const { promise, resolve } = Promise.withResolvers<Outcomes>();
    this.outcomes = promise;
    this.#resolve = resolve;
  }

  /** Every message has its fate; what comes later for one of them no longer counts. */
  get settled(): boolean {
    return this.#unresolved === 0;
  }

  /** Some of its messages were given up. */
  get abandoned(): boolean {
    return this.#abandoned;
  }

  /** So many more messages are in the table. */
  stored(count: number): void {
    if (!this.settled) this.#resolved(count);
  }

  refuse(message: number, refusal: Refusal): void {
    if (this.settled) return;
    this.#outcomes.set(message, { kind: "refused", refusal });
    this.#resolved(1);
  }

  /** The message was not written, and will not be. */
  abandon(message: number): void {
    if (this.settled) return;
    this.#abandoned = true;
    this.#outcomes.set(message, { kind: "abandoned" });
    this.#resolved(1);
  }

  #resolved(count: number): void {
    this.#unresolved -= count;
    if (!this.settled) return;
    this.#resolve(this.#outcomes);
    this.#onSettled(this);
  }
}

/** The outcomes of a batch of which nothing is written. */
export function allAbandoned(batch: MessageBatch): Outcomes {
  const outcomes = new Outcomes(batch.length);
  for (let i = 0; i < batch.length; i++) outcomes.set(i, { kind: "abandoned" });
  return outcomes;
}

const samples = 8;

/**
 * When the oldest message of a batch was published, in milliseconds since 1970-01-01 UTC. Looks at a few messages
 * only, the first and the last among them: the batch is as good as in order.
 */
export function oldestPublishTimeMs(batch: MessageBatch): number {
  const last = batch.length - 1;
  let oldest = batch.publishTimeMicros(last);
  for (let sample = 0; sample < samples; sample++) {
    const micros = batch.publishTimeMicros(Math.floor((sample * last) / samples));
    if (micros < oldest) oldest = micros;
  }
  return Number(oldest / 1000n);
}
