/**
 * Who holds which messages, and until when the service leaves them to us (LEASE-01…07).
 *
 * Leases are kept per batch. A batch that is settled within the stream's own deadline costs nothing; one that takes
 * longer is extended shortly before its deadline, for as long as 99 of 100 messages take. Only the monotonic clock counts.
 */
import { Alarm } from "../lib/alarm.ts";
import { backoffMs } from "../lib/retry.ts";
import type { Clock } from "../lib/clock.ts";
import { AckTimes } from "./ack-times.ts";

export interface LeaseOptions {
  /** Shortest and longest single extension, 10–600 s. */
  readonly minDurationPerAckExtensionMs: number;
  readonly maxDurationPerAckExtensionMs: number;
  /** How long in all a message is kept from redelivery; Infinity: as long as it is held. */
  readonly maxAckExtensionPeriodMs: number;
  /** Gives messages back that are held longer than this; Infinity: never. */
  readonly releaseAfterMs: number;
}

/** What leases ask of whoever talks to the service. */
export interface LeaseActions<B> {
  /** Extends the lease of a batch's messages (but the given-back ones) to `seconds` from now. True when the service has taken it. */
  extend(batch: B, seconds: number, givenBack: ReadonlyMap<number, number> | undefined): Promise<boolean>;
  /** Gives the whole batch back: it was held longer than `releaseAfterMs`. */
  release(batch: B): void;
  /** The total limit is over: the batch's messages may be delivered again although they are held. */
  limitReached(batch: B): void;
}

interface Lease<B> {
  readonly batch: B;
  readonly receivedAt: number;
  /** Until when the service keeps its promise. */
  deadlineAt: number;
  /** When the next extension is due; Infinity while one is under way and after the lease has ended. */
  extendAt: number;
  /** The messages given back on settlement: they must not be extended any more. */
  givenBack: ReadonlyMap<number, number> | undefined;
  settling: boolean;
  /** Given back, or left to its deadline. */
  ended: boolean;
}

/** The least time between an extension and the deadline it must beat. */
const minGraceMs = 5000;

/** Extensions that fall due within this time go together. */
const coalesceMs = 1000;

const retryBounds = { initialMs: 1000, maxMs: 60_000 };

export class LeaseManager<B extends { readonly length: number }> {
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #actions: LeaseActions<B>;
  readonly #random: () => number;
  readonly #leases = new Map<B, Lease<B>>();
  readonly #ackTimes = new AckTimes();
  readonly #alarm: Alarm;
  #failures = 0;
  #retryAt = -Infinity;

  constructor(options: LeaseOptions, clock: Clock, actions: LeaseActions<B>, random: () => number = Math.random) {
    this.#options = options;
    this.#clock = clock;
    this.#actions = actions;
    this.#random = random;
    this.#alarm = new Alarm(clock, () => this.#attendAll());
  }

  /** Number of batches under lease. */
  get size(): number {
    return this.#leases.size;
  }

  /** The length of an extension that begins now, in whole seconds: also the deadline a stream should ask for. */
  get extensionSeconds(): number {
    const { minDurationPerAckExtensionMs: min, maxDurationPerAckExtensionMs: max } = this.#options;
    const seconds = this.#ackTimes.percentile99(this.#ages());
    return Math.min(Math.max(seconds, Math.ceil(min / 1000)), Math.floor(max / 1000));
  }

  /** A batch has arrived; the service leaves it to us for `deadlineSeconds`. */
  hold(batch: B, deadlineSeconds: number): void {
    const now = this.#clock.monotonic();
    const lease: Lease<B> = {
      batch,
      receivedAt: now,
      deadlineAt: now + deadlineSeconds * 1000,
      extendAt: extendAt(now, deadlineSeconds * 1000),
      givenBack: undefined,
      settling: false,
      ended: false,
    };
    this.#leases.set(batch, lease);
    this.#alarm.setAt(this.#dueAt(lease));
  }

  /**
   * The fate of a batch is known and about to be sent: its acked messages stay leased until `drop`, the others do not.
   *
   * @returns how long the batch was held, in milliseconds, and when its lease ends at the latest if it is not extended
   *          any more and if it is; undefined when the batch is not held (any more)
   */
  settle(batch: B, givenBack: ReadonlyMap<number, number>): Settlement | undefined {
    const lease = this.#leases.get(batch);
    if (!lease || lease.settling) return undefined;
    lease.settling = true;
    lease.givenBack = givenBack.size > 0 ? givenBack : undefined;
    const heldMs = this.#clock.monotonic() - lease.receivedAt;
    this.#ackTimes.record(heldMs, batch.length);
    const { maxAckExtensionPeriodMs: limit, maxDurationPerAckExtensionMs: longest } = this.#options;
    return { heldMs, deadlineAt: lease.deadlineAt, lastDeadlineAt: lease.receivedAt + limit + longest };
  }

  /** The service has taken the fate of the batch, or it was given up. */
  drop(batch: B): void {
    this.#leases.delete(batch);
  }

  /** The batches whose fate is not known yet. */
  unsettled(): B[] {
    return [...this.#leases.values()].filter((lease) => !lease.settling).map((lease) => lease.batch);
  }

  /** Stops extending. */
  close(): void {
    this.#alarm.cancel();
    this.#leases.clear();
  }

  #dueAt(lease: Lease<B>): number {
    return Math.min(lease.extendAt, this.#releaseAt(lease));
  }

  #releaseAt(lease: Lease<B>): number {
    return lease.settling || lease.ended ? Infinity : lease.receivedAt + this.#options.releaseAfterMs;
  }

  #attendAll(): void {
    const now = this.#clock.monotonic();
    const seconds = this.extensionSeconds;
    let next = Infinity;
    for (const lease of this.#leases.values()) {
      if (this.#releaseAt(lease) <= now) this.#end(lease, "release");
      else if (lease.extendAt <= now + coalesceMs) this.#attend(lease, now, seconds);
      next = Math.min(next, this.#dueAt(lease));
    }
    this.#alarm.setAt(next);
  }

  #end(lease: Lease<B>, reason: "release" | "limitReached"): void {
    lease.ended = true;
    lease.extendAt = Infinity;
    this.#actions[reason](lease.batch);
  }

  #attend(lease: Lease<B>, now: number, seconds: number): void {
    const limitAt = lease.receivedAt + this.#options.maxAckExtensionPeriodMs;
    if (limitAt <= Math.max(lease.deadlineAt, now)) this.#end(lease, "limitReached");
    else void this.#extend(lease, now, Math.min(seconds, Math.ceil((limitAt - now) / 1000)));
  }

  async #extend(lease: Lease<B>, now: number, seconds: number): Promise<void> {
    lease.extendAt = Infinity;
    const taken = await this.#actions.extend(lease.batch, seconds, lease.givenBack);
    if (lease.ended || this.#leases.get(lease.batch) !== lease) return;
    if (taken) {
      this.#failures = 0;
      lease.deadlineAt = now + seconds * 1000;
      lease.extendAt = extendAt(now, seconds * 1000);
    } else lease.extendAt = this.#nextRetryAt();
    this.#alarm.setAt(this.#dueAt(lease));
  }

  /** One pause for all extensions that fail together, so that they are tried again together. */
  #nextRetryAt(): number {
    const now = this.#clock.monotonic();
    if (this.#retryAt <= now) {
      this.#retryAt = now + coalesceMs + backoffMs(this.#failures++, retryBounds, this.#random);
    }
    return this.#retryAt;
  }

  *#ages(): Generator<{ ageMs: number; messages: number }> {
    const now = this.#clock.monotonic();
    for (const lease of this.#leases.values()) {
      if (!lease.settling) yield { ageMs: now - lease.receivedAt, messages: lease.batch.length };
    }
  }
}

/** Early enough for an extension and a second try to be taken before the deadline. */
function extendAt(fromMs: number, lengthMs: number): number {
  return fromMs + lengthMs - Math.max(minGraceMs, lengthMs / 10);
}

/** What is known of a batch when it is settled; times on the monotonic clock. */
export interface Settlement {
  readonly heldMs: number;
  /** When the lease ends if it is not extended any more. */
  readonly deadlineAt: number;
  /** When the last possible extension would end; Infinity without a total limit. */
  readonly lastDeadlineAt: number;
}
