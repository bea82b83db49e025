/**
 * The way of the data on one screen: pull → deliver → dead letters → settle.
 *
 * The only settle of the program stands at the end of the way, after both writes: a message is acked when its row is
 * durable, its letter is published or it was skipped; else it is given back.
 */
import type { Breaker } from "./breaker/breaker.ts";
import type { DeadLetter, DeadLetterQueue, LetterFailure, PublishResult } from "./dead-letter/dead-letter.ts";
import type { Destination } from "./destination.ts";
import { type Clock, pause } from "./lib/clock.ts";
import { RedeliveryPause } from "./lib/redelivery-pause.ts";
import { Fates, type MessageBatch, type Outcomes, type PipelineState } from "./message.ts";
import type { Source } from "./source/source.ts";

export interface PipelineParts {
  readonly source: Source;
  readonly destination: Destination;
  /** Undefined: a refused message is given back, with a pause that grows. */
  readonly deadLetters: DeadLetterQueue | undefined;
  /** Undefined: however many messages are refused, they are dead-lettered. */
  readonly breaker: Breaker | undefined;
  readonly observer: PipelineObserver;
  readonly clock: Clock;
}

/** What a pipeline tells those who count. Called per batch, never per message. */
export interface PipelineObserver {
  /** Letters that were published. */
  deadLettered(letters: number): void;
  /** A letter was not published; its message is given back. */
  letterFailed(why: LetterFailure): void;
  /** Messages that are given back without having become a row or a letter. */
  givenBack(messages: number): void;
}

/** Shares of the drain's time after which appends, letters and settlements are waited for no longer. */
const appendShare = 0.8;
const letterShare = 0.9;
const settleShare = 0.95;

export class Pipeline {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #deadLetters: DeadLetterQueue | undefined;
  readonly #breaker: Breaker | undefined;
  readonly #observer: PipelineObserver;
  readonly #clock: Clock;
  readonly #redelivery = new RedeliveryPause();
  readonly #pulling = new AbortController();
  readonly #delivering = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #pulled: Promise<void> = Promise.resolve();
  #phase: "DRAINING" | "STOPPED" | undefined;
  readonly #failed = Promise.withResolvers<void>();
  #failure: Error | undefined;

  constructor({ source, destination, deadLetters, breaker, observer, clock }: PipelineParts) {
    this.#source = source;
    this.#destination = destination;
    this.#deadLetters = deadLetters;
    this.#breaker = breaker;
    this.#observer = observer;
    this.#clock = clock;
  }

  /** What keeps the pipeline from its work: the destination, else the source, else the breaker, else the dead letters. */
  get state(): PipelineState {
    return this.#phase ?? this.#ailing?.state ?? "ACTIVE";
  }

  get stateReason(): string {
    return this.#phase ? "" : (this.#ailing?.stateReason ?? "");
  }

  get #ailing(): { readonly state: PipelineState; readonly stateReason: string } | undefined {
    const parts = [this.#destination, this.#source, this.#breaker, this.#deadLetters];
    const ailing = parts.filter((part) => part && part.state !== "ACTIVE");
    // One that is only starting may be waiting for another.
    return ailing.find((part) => part?.state !== "STARTING") ?? ailing[0];
  }

  /** Runs until it is drained. Rejects when one of its parts fails in a way that no retry can mend: a defect. */
  async run(): Promise<void> {
    this.#pulled = this.#pull(this.#pulling.signal);
    await this.#pulled.catch((error: unknown) => this.#fail(error));
    await Promise.race([Promise.all(this.#underWay), this.#failed.promise]);
    if (this.#failure) throw this.#failure;
  }

  async #pull(signal: AbortSignal): Promise<void> {
    await this.#destination.open(signal);
    if (!signal.aborted) await this.#deadLetters?.open(signal);
    if (!signal.aborted) await this.#source.open(signal);
    if (signal.aborted) return;
    for await (const batch of this.#source.batches(signal)) {
      const way = this.#way(batch)
        .catch((error: unknown) => this.#fail(error))
        .finally(() => this.#underWay.delete(way));
      this.#underWay.add(way);
      await this.#breaker?.taken(batch.length, signal);
    }
  }

  async #way(batch: MessageBatch): Promise<void> {
    const outcomes = await this.#destination.deliver(batch, this.#delivering.signal);
    this.#breaker?.judge(outcomes);
    const published = await this.#publish(this.#lettersOf(batch, outcomes));
    await this.#source.settle(batch, this.#fatesOf(batch, outcomes, published));
  }

  /**
   * While the breaker has tripped, none but those of messages with an ordering key: what follows such a message in its key may be
   * in the table already, so that, given back, it would come after it, and have it written again each time. In the order of the batch:
   what was refused first need not have come first.
   */
  #lettersOf(batch: MessageBatch, outcomes: Outcomes): DeadLetter[] {
    const tripped = this.#breaker?.state === "TRIPPED";
    const letters: DeadLetter[] = [];
    for (const [message, outcome] of outcomes.exceptions) {
      if (outcome.kind !== "refused" || (tripped && batch.orderingKey(message) === "")) continue;
      letters.push({ batch, message, refusal: outcome.refusal });
    }
    return letters.sort((a, b) => a.message - b.message);
  }

  /** Message index → whether its letter is published. Empty without a dead-letter topic. */
  async #publish(letters: readonly DeadLetter[]): Promise<ReadonlyMap<number, PublishResult>> {
    if (!this.#deadLetters || letters.length === 0) return new Map();
    const results = await this.#deadLetters.publish(letters);
    this.#observer.deadLettered(results.filter(({ ok }) => ok).length);
    for (const result of results) if (!result.ok) this.#observer.letterFailed(result.why);
    return new Map(letters.map(({ message }, i) => [message, results[i]!]));
  }

  #fatesOf(batch: MessageBatch, outcomes: Outcomes, published: ReadonlyMap<number, PublishResult>): Fates {
    const fates = new Fates(batch.length);
    for (const [message, { kind }] of outcomes.exceptions) {
      const letter = published.get(message);
      if (kind === "abandoned" || (letter?.ok === false && letter.why === "stopping")) fates.nack(message);
      else if (kind === "refused" && !letter?.ok) {
        fates.nack(message, this.#redelivery.next(batch.messageId(message)));
      }
    }
    if (fates.nacks.size > 0) this.#observer.givenBack(fates.nacks.size);
    return fates;
  }

  /** A defect: nothing more is pulled; what it concerns stays unsettled and will be delivered again. */
  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#failed.resolve();
    this.#pulling.abort();
  }

  /**
   * Stops pulling, flushes, awaits the appends, publishes the dead letters, acks, gives the rest back, and closes.
   * Resolves within `timeoutMs`.
   */
  async drain(timeoutMs: number): Promise<void> {
    const start = this.#clock.monotonic();
    this.#phase = "DRAINING";
    this.#pulling.abort();
    this.#deadLetters?.drain();
    await this.#by(start + timeoutMs * appendShare, this.#flush(start + timeoutMs * appendShare));
    this.#delivering.abort();
    await this.#by(start + timeoutMs * letterShare, Promise.all(this.#underWay));
    await this.#by(start + timeoutMs * settleShare, this.#endLetters());
    await this.#by(start + timeoutMs, this.#close());
    this.#phase = "STOPPED";
  }

  async #flush(deadlineMs: number): Promise<void> {
    await this.#pulled;
    await this.#destination.drain(deadlineMs);
  }

  /**
   * Letters that still wait end here as not published. Only their messages are given back, and only the way of their
   * batch can say so: the source would give back the whole of it, with rows that are in the table.
   */
  async #endLetters(): Promise<void> {
    await this.#deadLetters?.close();
    await Promise.all(this.#underWay);
  }

  async #close(): Promise<void> {
    await this.#source.close();
    await this.#destination.close();
  }

  /** Resolves with `work`, whether it succeeds or not, but at the deadline at the latest. */
  async #by(deadlineMs: number, work: Promise<unknown>): Promise<void> {
    const done = new AbortController();
    const finished = work.catch((error: unknown) => this.#fail(error)).finally(() => done.abort());
    await Promise.race([finished, pause(this.#clock, deadlineMs - this.#clock.monotonic(), done.signal)]);
  }
}
