/**
 * A source whose messages are handed on once: what Pub/Sub delivers again is acked without a second row.
 *
 * A message is remembered from the moment at which it is known to be acked: its row is durable, its letter published, or it
 * was skipped. One that comes again before that waits for what becomes of its first copy, and shares its fate. Only its own
 * batch waits with it, and only with its settlement: the batch's other messages go on, behind the first copy, which went the
 * same way before them. So the order of a key is that of the first copies, and since one waits for earlier batches alone,
 * none waits for ever.
 */
import type { Clock } from "../lib/clock.ts";
import { type Fate, Fates, type MessageBatch, type PipelineState } from "../message.ts";
import type { Source } from "../source/source.ts";
import type { IdMemory } from "./id-memory.ts";
import { PickedBatch } from "./picked-batch.ts";

/** What is told of duplicates. Called per batch. */
export interface DedupeObserver {
  /** Messages that are acked without a row: they are settled already. */
  skipped(messages: number): void;
}

/** A batch on its way through the pipeline. */
interface Passage {
  readonly batch: MessageBatch;
  /** Entries of the messages that are handed on. */
  readonly entries: Int32Array;
  /** Undefined for a batch without duplicates, which is handed on as it is. */
  readonly duplicates: Duplicates | undefined;
}

interface Duplicates {
  /** Which messages of the batch are handed on. */
  readonly picked: Int32Array;
  /** Number of those that were settled when they came. */
  readonly settled: number;
  /** The fates of those whose first copy was under way. */
  readonly waiting: readonly Promise<WaitingFate>[];
}

interface WaitingFate {
  readonly message: number;
  readonly fate: Fate;
}

/** The source has been told; `taken` resolves when the service has taken it. */
interface Handover {
  readonly taken: Promise<void>;
}

const givenBack: Fate = { kind: "nack", afterMs: 0 };
const acked: Fate = { kind: "ack" };

export class DeduplicatedSource implements Source {
  readonly #source: Source;
  readonly #memory: IdMemory;
  readonly #clock: Clock;
  readonly #observer: DedupeObserver;
  /** By the batch that was handed on. */
  readonly #passages = new Map<MessageBatch, Passage>();
  /** Those who wait for the fate of an entry under way. */
  readonly #waiting = new Map<number, ((fate: Fate) => void)[]>();
  /** Batches whose settlement waits for fates. */
  readonly #completing = new Set<Promise<Handover>>();

  constructor(source: Source, memory: IdMemory, clock: Clock, observer: DedupeObserver) {
    this.#source = source;
    this.#memory = memory;
    this.#clock = clock;
    this.#observer = observer;
  }

  get state(): PipelineState {
    return this.#source.state;
  }

  get stateReason(): string {
    return this.#source.stateReason;
  }

  open(signal: AbortSignal): Promise<void> {
    return this.#source.open(signal);
  }

  /** Batches without what is a duplicate; one that has nothing else is empty, and is to be settled all the same. */
  async *batches(signal: AbortSignal): AsyncIterable<MessageBatch> {
    for await (const batch of this.#source.batches(signal)) {
      const passage = this.#admit(batch);
      const handedOn = passage.duplicates ? new PickedBatch(batch, passage.duplicates.picked) : batch;
      this.#passages.set(handedOn, passage);
      yield handedOn;
    }
  }

  async settle(handedOn: MessageBatch, fates: Fates): Promise<void> {
    const passage = this.#passages.get(handedOn);
    if (!passage) throw new TypeError("The batch does not come from this source.");
    this.#passages.delete(handedOn);
    this.#conclude(passage.entries, fates);
    const { batch, duplicates } = passage;
    if (!duplicates) return this.#source.settle(batch, fates);
    const completing = this.#settleWhole(batch, duplicates, fates);
    this.#completing.add(completing);
    const { taken } = await completing;
    this.#completing.delete(completing);
    await taken;
  }

  /** What waits for a first copy that found no fate is given back. */
  async close(): Promise<void> {
    for (const entry of this.#waiting.keys()) this.#tell(entry, givenBack);
    await Promise.all(this.#completing);
    await this.#source.close();
  }

  #admit(batch: MessageBatch): Passage {
    this.#memory.expire(this.#clock.monotonic());
    const entries = new Int32Array(batch.length);
    let known = 0;
    for (let i = 0; i < batch.length; i++) {
      entries[i] = this.#memory.enter(batch.messageId(i));
      if (entries[i]! < 0) known++;
    }
    if (known === 0) return { batch, entries, duplicates: undefined };
    const waiting: Promise<WaitingFate>[] = [];
    const picked: number[] = [];
    for (const [message, entry] of entries.entries()) {
      if (entry >= 0) picked.push(message);
      else if (this.#memory.isUnderWay(~entry)) waiting.push(this.#fateOf(~entry, message));
    }
    return {
      batch,
      entries: entries.filter((entry) => entry >= 0),
      duplicates: { picked: Int32Array.from(picked), settled: known - waiting.length, waiting },
    };
  }

  #fateOf(entry: number, message: number): Promise<WaitingFate> {
    const { promise, resolve } = Promise.withResolvers<WaitingFate>();
    const waiting = this.#waiting.get(entry) ?? [];
    this.#waiting.set(entry, waiting);
    waiting.push((fate) => resolve({ message, fate }));
    return promise;
  }

  #conclude(entries: Int32Array, { nacks }: Fates): void {
    const now = this.#clock.monotonic();
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i]!;
      const afterMs = nacks.size > 0 ? nacks.get(i) : undefined;
      if (afterMs === undefined) this.#memory.remember(entry, now);
      else this.#memory.forget(entry);
      if (this.#waiting.size > 0) this.#tell(entry, afterMs === undefined ? acked : { kind: "nack", afterMs });
    }
  }

  #tell(entry: number, fate: Fate): void {
    for (const told of this.#waiting.get(entry) ?? []) told(fate);
    this.#waiting.delete(entry);
  }

  /** Settles a whole batch, its duplicates among it, when their fates are known. */
  async #settleWhole(batch: MessageBatch, duplicates: Duplicates, fates: Fates): Promise<Handover> {
    const whole = new Fates(batch.length);
    for (const [i, afterMs] of fates.nacks) whole.nack(duplicates.picked[i]!, afterMs);
    let skipped = duplicates.settled;
    for (const { message, fate } of await Promise.all(duplicates.waiting)) {
      if (fate.kind === "ack") skipped++;
      else whole.nack(message, fate.afterMs);
    }
    if (skipped > 0) this.#observer.skipped(skipped);
    return { taken: this.#source.settle(batch, whole) };
  }
}
