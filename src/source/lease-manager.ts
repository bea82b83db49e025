/**
 * Who holds which messages, and until when the service leaves them to us (LEASE-01…07).
 *
 * A batch that is settled soon costs nothing; one that takes longer is extended before its deadline, for as long as 99 of
 * 100 messages take. Only the monotonic clock counts.
 */
import { Alarm } from "../lib/alarm.ts";
import type { Clock } from "../lib/clock.ts";
import type { ParcelResult } from "./ack-draft.ts";
import type { RequestLimits } from "./ack-requests.ts";
import { AckTimes } from "./ack-times.ts";
import { graceMs, partsOf, requestsFor, roundSeconds } from "./extension-pace.ts";
import { Extensions } from "./extensions.ts";
import { type Lease, type LeasedBatch, leaseInParts, type LeasePart } from "./lease.ts";

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
  /** How much goes into one request. */
  readonly limits: () => RequestLimits;
  /** Sets the leases of some messages (undefined: all) of a batch to `seconds` from now. */
  extend(batch: B, seconds: number, messages: readonly number[] | undefined): Promise<ParcelResult>;
  /** Gives the whole batch back: it was held longer than `releaseAfterMs`. */
  release(batch: B): void;
  /** The total limit is over: the batch's messages may be delivered again although they are held. */
  limitReached(batch: B): void;
  /** The leases of so many messages may have ended before they could be extended: they lay unread, or the process or the network stood still. */
  expired(messages: number): void;
}

/** Until when a batch that has come is left to us. */
export interface Grant {
  /** From `sinceMs` on. */
  readonly seconds: number;
  /** On the monotonic clock. */
  readonly sinceMs: number;
  /** The service has confirmed it. Otherwise nobody knows how long the batch was on its way. */
  readonly confirmed: boolean;
}

/** With exactly-once delivery. */
const confirmedSeconds = 60;

export class LeaseManager<B extends LeasedBatch> {
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #actions: LeaseActions<B>;
  readonly #leases = new Map<B, Lease<B>>();
  /** All that is held. */
  readonly #held = { length: 0, ackIdBytes: 0 };
  readonly #ackTimes = new AckTimes();
  readonly #alarm: Alarm;
  readonly #extensions: Extensions<B>;
  /** Leases are confirmed by the service, and so not granted for less than a minute. */
  exactlyOnce = false;

  constructor(options: LeaseOptions, clock: Clock, actions: LeaseActions<B>, random: () => number = Math.random) {
    this.#options = options;
    this.#clock = clock;
    this.#actions = actions;
    this.#alarm = new Alarm(clock, () => this.#attendAll());
    this.#extensions = new Extensions<B>({
      clock,
      random,
      limits: () => actions.limits(),
      requests: () => this.#requests,
      longestSeconds: () => this.receiptSeconds(this.#held),
      limitAt: (part) => this.#limitAt(part.lease),
      extend: (batch, seconds, messages) => actions.extend(batch, seconds, messages),
      lost: ({ lease }, messages) => this.#leaveOut(lease, messages),
      expired: (messages) => actions.expired(messages),
      scheduled: (part) => this.#setAlarm(this.#dueAt(part)),
    });
  }

  /** Number of batches under lease. */
  get size(): number {
    return this.#leases.size;
  }

  /** For how long a message that comes now should be left to us, in whole seconds: the deadline a stream should ask for. */
  get extensionSeconds(): number {
    return this.#bounded(this.#ackTimes.percentile99(this.#ages()));
  }

  /**
   * The same for a batch whose lease is to be confirmed: all that is held can have its turn before it.
   *
   * @param held what is held or about to be, with the batch
   */
  receiptSeconds(held: LeasedBatch): number {
    return Math.max(this.extensionSeconds, this.#bounded(roundSeconds(requestsFor(held, this.#actions.limits()))));
  }

  /** A batch has arrived. */
  hold(batch: B, { seconds, sinceMs, confirmed }: Grant): void {
    this.#held.length += batch.length;
    this.#held.ackIdBytes += batch.ackIdBytes;
    const lengthMs = seconds * 1000;
    const deadlineAt = sinceMs + lengthMs;
    const extendAt = deadlineAt - graceMs(lengthMs, !confirmed, this.#requests);
    const receivedAt = this.#clock.monotonic();
    const parts = partsOf(batch, this.#actions.limits());
    const lease = leaseInParts(batch, parts, { receivedAt, deadlineAt, extendAt });
    this.#leases.set(batch, lease);
    for (const part of lease.parts) this.#setAlarm(this.#dueAt(part));
  }

  /**
   * The fate of a batch is known and about to be sent: its acked messages stay leased until `drop`, the others do not.
   *
   * @returns undefined when the batch is not held (any more)
   */
  settle(batch: B, givenBack: ReadonlyMap<number, number>): Settlement | undefined {
    const lease = this.#leases.get(batch);
    if (!lease || lease.settling) return undefined;
    lease.settling = true;
    if (givenBack.size > 0) this.#leaveOut(lease, givenBack.keys());
    const heldMs = this.#clock.monotonic() - lease.receivedAt;
    this.#ackTimes.record(heldMs, batch.length);
    const { maxAckExtensionPeriodMs: limit, maxDurationPerAckExtensionMs: longest } = this.#options;
    const deadlineAt = lease.parts.reduce((latest, part) => Math.max(latest, part.deadlineAt), -Infinity);
    return { heldMs, deadlineAt, lastDeadlineAt: lease.receivedAt + limit + longest };
  }

  /** Some messages of the batch are not to be extended any more. */
  leaveOut(batch: B, messages: Iterable<number>): void {
    const lease = this.#leases.get(batch);
    if (lease) this.#leaveOut(lease, messages);
  }

  /** The service has taken the fate of the batch, or it was given up. */
  drop(batch: B): void {
    const lease = this.#leases.get(batch);
    if (!lease) return;
    lease.ended = true;
    this.#leases.delete(batch);
    this.#held.length -= batch.length;
    this.#held.ackIdBytes -= batch.ackIdBytes;
  }

  /** The batches whose fate is not known yet. */
  unsettled(): B[] {
    return [...this.#leases.values()].filter((lease) => !lease.settling).map((lease) => lease.batch);
  }

  /** Stops extending. */
  close(): void {
    this.#alarm.cancel();
    for (const batch of this.#leases.keys()) this.drop(batch);
  }

  /** What it takes to extend all that is held. */
  get #requests(): number {
    return requestsFor(this.#held, this.#actions.limits());
  }

  #bounded(seconds: number): number {
    const { minDurationPerAckExtensionMs: min, maxDurationPerAckExtensionMs: max } = this.#options;
    const least = Math.max(Math.ceil(min / 1000), this.exactlyOnce ? confirmedSeconds : 0);
    return Math.min(Math.max(seconds, least), Math.floor(max / 1000));
  }

  #dueAt({ lease, extendAt }: LeasePart<B>): number {
    return Math.min(Math.max(extendAt, this.#extensions.nextAt), this.#releaseAt(lease));
  }

  #releaseAt(lease: Lease<B>): number {
    return lease.settling || lease.ended ? Infinity : lease.receivedAt + this.#options.releaseAfterMs;
  }

  #setAlarm(atMs: number): void {
    this.#alarm.setAt(Math.max(atMs, this.#clock.monotonic()));
  }

  #attendAll(): void {
    const now = this.#clock.monotonic();
    for (const lease of this.#leases.values()) if (this.#releaseAt(lease) <= now) this.#end(lease, "release");
    const parts = [...this.#parts()];
    this.#extensions.attend(
      parts.filter((part) => this.#mayExtend(part, now)),
      now,
    );
    const next = parts.reduce((earliest, part) => Math.min(earliest, this.#dueAt(part)), Infinity);
    if (next < Infinity) this.#setAlarm(next);
  }

  *#parts(): Generator<LeasePart<B>> {
    for (const { parts } of this.#leases.values()) yield* parts;
  }

  /** False when the total limit allows no more; the lease is then left to its deadline. */
  #mayExtend(part: LeasePart<B>, now: number): boolean {
    const { lease, deadlineAt } = part;
    if (lease.ended || part.extendAt === Infinity) return false;
    if (this.#limitAt(lease) > Math.max(deadlineAt, now)) return true;
    if (deadlineAt > now) part.extendAt = deadlineAt;
    else this.#end(lease, "limitReached");
    return false;
  }

  #limitAt(lease: Lease<B>): number {
    return lease.receivedAt + this.#options.maxAckExtensionPeriodMs;
  }

  #end(lease: Lease<B>, reason: "release" | "limitReached"): void {
    this.#stop(lease);
    this.#actions[reason](lease.batch);
  }

  #stop(lease: Lease<B>): void {
    lease.ended = true;
    for (const part of lease.parts) part.extendAt = Infinity;
  }

  #leaveOut(lease: Lease<B>, messages: Iterable<number>): void {
    const leftOut = (lease.leftOut ??= new Set());
    for (const message of messages) leftOut.add(message);
    if (leftOut.size === lease.batch.length) this.#stop(lease);
  }

  *#ages(): Generator<{ ageMs: number; messages: number }> {
    const now = this.#clock.monotonic();
    for (const lease of this.#leases.values()) {
      if (!lease.settling) yield { ageMs: now - lease.receivedAt, messages: lease.batch.length };
    }
  }
}

/** What is known of a batch when it is settled; times on the monotonic clock. */
export interface Settlement {
  readonly heldMs: number;
  /** When the last of its leases ends if it is not extended any more. */
  readonly deadlineAt: number;
  /** When the last possible extension would end; Infinity without a total limit. */
  readonly lastDeadlineAt: number;
}
