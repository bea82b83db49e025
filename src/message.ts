/**
 * Messages travel in the batches in which the server sent them: one buffer, offsets into it, no object per message.
 */
import type { Refusal } from "./errors.ts";

/** Attributes of one message, by key. */
export type Attributes = ReadonlyMap<string, string>;

/** The messages of one server response. Index `i` runs from 0 to `length - 1`. */
export interface MessageBatch {
  readonly length: number;
  /** The buffer into which `dataStart` and `dataEnd` point. It stays as it is until the batch is settled. */
  readonly bytes: Buffer;
  /** Bytes that the batch keeps in memory. */
  readonly byteLength: number;
  /** Offset in `bytes` of the first byte of the payload. */
  dataStart(i: number): number;
  /** Offset in `bytes` behind the last byte of the payload. */
  dataEnd(i: number): number;
  messageId(i: number): string;
  /** Microseconds since 1970-01-01 UTC. */
  publishTimeMicros(i: number): bigint;
  attributes(i: number): Attributes;
  /** Some message has an ordering key; without one nobody need look at the keys. */
  readonly hasOrderingKeys: boolean;
  /** Empty when the message has none. */
  orderingKey(i: number): string;
  /** 0 when the subscription does not count attempts, else 1 for the first delivery. */
  deliveryAttempt(i: number): number;
}

/** What became of one message. */
export type Outcome =
  | { readonly kind: "durable" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "skipped" }
  | { readonly kind: "abandoned" };

const durable: Outcome = { kind: "durable" };

/**
 * The outcomes of a batch, one per message. Every message starts as durable-to-be: only exceptions are stored,
 * so that a batch without any costs nothing per message.
 */
export class Outcomes {
  readonly length: number;
  readonly #exceptions = new Map<number, Outcome>();

  constructor(length: number) {
    this.length = length;
  }

  /** Records an outcome other than durable. */
  set(i: number, outcome: Outcome): void {
    this.#exceptions.set(i, outcome);
  }

  at(i: number): Outcome {
    return this.#exceptions.get(i) ?? durable;
  }

  /** The messages that are not durable, in the order in which that was found. */
  get exceptions(): ReadonlyMap<number, Outcome> {
    return this.#exceptions;
  }
}

/** What is done with a message at its source: `ack`, or give it back at once or after a pause. */
export type Fate = { readonly kind: "ack" } | { readonly kind: "nack"; readonly afterMs: number };

const ack: Fate = { kind: "ack" };

/** The fates of a batch: every message is acked but the named ones. */
export class Fates {
  readonly length: number;
  readonly #nacks = new Map<number, number>();

  constructor(length: number) {
    this.length = length;
  }

  /** Gives a message back, `afterMs` milliseconds from now at the earliest (0: at once). */
  nack(i: number, afterMs = 0): void {
    this.#nacks.set(i, afterMs);
  }

  at(i: number): Fate {
    const afterMs = this.#nacks.get(i);
    return afterMs === undefined ? ack : { kind: "nack", afterMs };
  }

  /** Message index → pause in milliseconds. */
  get nacks(): ReadonlyMap<number, number> {
    return this.#nacks;
  }
}

/** What a pipeline, its source or its destination is doing; the error states are those of managed subscriptions. */
export type PipelineState =
  | "STARTING"
  | "ACTIVE"
  | "PERMISSION_DENIED"
  | "NOT_FOUND"
  | "SCHEMA_MISMATCH"
  | "MISCONFIGURED"
  | "THROTTLED"
  | "TRIPPED"
  | "UNAVAILABLE"
  | "DRAINING"
  | "STOPPED";
