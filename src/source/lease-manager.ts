/**
 * Who holds which messages, and until when the service leaves them to us (LEASE-01…07).
 *
 * Leases are kept per batch. A batch that is settled soon costs nothing; one that takes longer is extended before its
 * deadline, for as long as 99 of 100 messages take. Extensions go by one request at a time, the earliest deadline first.
 * Only the monotonic clock counts.
 */
import { Alarm } from "../lib/alarm.ts";
import type { Clock } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import type { ParcelResult } from "./ack-draft.ts";
import type { RequestLimits } from "./ack-requests.ts";
import { AckTimes } from "./ack-times.ts";
import {
  countForRequest,
  type DueLease,
  type ExtendableBatch,
  pauseBefore,
  requestsFor,
  roundSeconds,
} from "./extension-pace.ts";

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
  /** Sets the lease of a batch's messages (but those left out) to `seconds` from now. */
  extend(batch: B, seconds: number, leftOut: ReadonlySet<number> | undefined): Promise<ParcelResult>;
  /** Gives the whole batch back: it was held longer than `releaseAfterMs`. */
  release(batch: B): void;
  /** The total limit is over: the batch's messages may be delivered again although they are held. */
  limitReached(batch: B): void;
  /** The lease has ended before it could be extended, because the process or the network stood still. */
  expired(batch: B): void;
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

interface Lease<B extends ExtendableBatch> extends DueLease {
  readonly batch: B;
  readonly receivedAt: number;
  deadlineAt: number;
  /** When the next extension is due; Infinity while one is under way and after the lease has ended. */
  extendAt: number;
  /** Messages that must not or cannot be extended: given back on settlement, or the service does not know them. */
  leftOut: ReadonlySet<number> | undefined;
  settling: boolean;
  /** Given back, or left to its deadline. */
  ended: boolean;
  expired: boolean;
}

/** The least time between an extension and the deadline it must beat. */
const minGraceMs = 5000;
/** The same for the first one: the batch may have been on its way for long. */
const firstGraceMs = 9000;
/** Extensions that fall due within this time go together. */
const coalesceMs = 1000;
/** With exactly-once delivery. */
const confirmedSeconds = 60;

const retryBounds = { initialMs: 1000, maxMs: 60_000 };

export class LeaseManager<B extends ExtendableBatch> {
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  readonly #actions: LeaseActions<B>;
  readonly #random: () => number;
  readonly #leases = new Map<B, Lease<B>>();
  readonly #ackTimes = new AckTimes();
  readonly #alarm: Alarm;
  /** No extension goes before this. */
  #nextRequestAt = -Infinity;
  #failures = 0;
  #failedAt = -Infinity;
  /** Leases are confirmed by the service, and so not granted for less than a minute. */
  exactlyOnce = false;

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

  /** For how long a message that comes now should be left to us, in whole seconds: the deadline a stream should ask for. */
  get extensionSeconds(): number {
    return this.#bounded(this.#ackTimes.percentile99(this.#ages()));
  }

  /** A batch has arrived. */
  hold(batch: B, { seconds, sinceMs, confirmed }: Grant): void {
    const lengthMs = seconds * 1000;
    const lease: Lease<B> = {
      batch,
      receivedAt: this.#clock.monotonic(),
      deadlineAt: sinceMs + lengthMs,
      extendAt: extendAt(sinceMs, lengthMs, confirmed ? minGraceMs : firstGraceMs),
      leftOut: undefined,
      settling: false,
      ended: false,
      expired: false,
    };
    this.#leases.set(batch, lease);
    this.#setAlarm(this.#dueAt(lease));
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
    if (givenBack.size > 0) this.leaveOut(batch, givenBack.keys());
    const heldMs = this.#clock.monotonic() - lease.receivedAt;
    this.#ackTimes.record(heldMs, batch.length);
    const { maxAckExtensionPeriodMs: limit, maxDurationPerAckExtensionMs: longest } = this.#options;
    return { heldMs, deadlineAt: lease.deadlineAt, lastDeadlineAt: lease.receivedAt + limit + longest };
  }

  /** Some messages of the batch are not to be extended any more. */
  leaveOut(batch: B, messages: Iterable<number>): void {
    const lease = this.#leases.get(batch);
    if (lease) lease.leftOut = new Set([...(lease.leftOut ?? []), ...messages]);
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

  #bounded(seconds: number): number {
    const { minDurationPerAckExtensionMs: min, maxDurationPerAckExtensionMs: max } = this.#options;
    const least = Math.max(Math.ceil(min / 1000), this.exactlyOnce ? confirmedSeconds : 0);
    return Math.min(Math.max(seconds, least), Math.floor(max / 1000));
  }

  #dueAt(lease: Lease<B>): number {
    return Math.min(Math.max(lease.extendAt, this.#nextRequestAt), this.#releaseAt(lease));
  }

  #releaseAt(lease: Lease<B>): number {
    return lease.settling || lease.ended ? Infinity : lease.receivedAt + this.#options.releaseAfterMs;
  }

  #setAlarm(atMs: number): void {
    this.#alarm.setAt(Math.max(atMs, this.#clock.monotonic()));
  }

  #attendAll(): void {
    const now = this.#clock.monotonic();
    const due: Lease<B>[] = [];
    for (const lease of this.#leases.values()) {
      if (this.#releaseAt(lease) <= now) this.#end(lease, "release");
      else if (lease.extendAt <= now + coalesceMs && this.#mayExtend(lease, now)) due.push(lease);
    }
    if (now >= this.#nextRequestAt && due.some((lease) => lease.extendAt <= now)) this.#extendSome(due, now);
    let next = Infinity;
    for (const lease of this.#leases.values()) next = Math.min(next, this.#dueAt(lease));
    if (next < Infinity) this.#setAlarm(next);
  }

  /** False when the total limit allows no more; the lease is then left to its deadline. */
  #mayExtend(lease: Lease<B>, now: number): boolean {
    if (lease.extendAt > now || this.#limitAt(lease) > Math.max(lease.deadlineAt, now)) return true;
    if (lease.deadlineAt > now) lease.extendAt = lease.deadlineAt;
    else this.#end(lease, "limitReached");
    return false;
  }

  #limitAt(lease: Lease<B>): number {
    return lease.receivedAt + this.#options.maxAckExtensionPeriodMs;
  }

  #end(lease: Lease<B>, reason: "release" | "limitReached"): void {
    lease.ended = true;
    lease.extendAt = Infinity;
    this.#actions[reason](lease.batch);
  }

  /** Sends one request. */
  #extendSome(due: readonly Lease<B>[], now: number): void {
    const limits = this.#actions.limits();
    const longest = this.#roundSeconds(limits);
    const urgent = due.toSorted((a, b) => a.deadlineAt - b.deadlineAt);
    const seconds = this.#secondsFor(urgent[0]!, longest, now);
    const alike = urgent.filter((lease) => this.#secondsFor(lease, longest, now) === seconds);
    const sent = alike.slice(0, countForRequest(alike, limits));
    for (const lease of sent) void this.#extend(lease, now, seconds);
    const waiting = urgent.filter((lease) => lease.extendAt < Infinity);
    this.#nextRequestAt = now + pauseBefore(waiting, limits, now) * Math.max(1, requestsFor(batchesOf(sent), limits));
  }

  #secondsFor(lease: Lease<B>, longest: number, now: number): number {
    return Math.max(1, Math.min(longest, Math.ceil((this.#limitAt(lease) - now) / 1000)));
  }

  /** Long enough for 99 of 100 messages, and for all that is held to have its turn meanwhile. */
  #roundSeconds(limits: RequestLimits): number {
    return this.#bounded(Math.max(this.extensionSeconds, roundSeconds(requestsFor(this.#leases.keys(), limits))));
  }

  async #extend(lease: Lease<B>, now: number, seconds: number): Promise<void> {
    if (lease.deadlineAt <= now && !lease.expired) {
      lease.expired = true;
      this.#actions.expired(lease.batch);
    }
    lease.extendAt = Infinity;
    const { lost, untaken } = await this.#actions.extend(lease.batch, seconds, lease.leftOut);
    if (lease.ended || this.#leases.get(lease.batch) !== lease) return;
    if (lost.length > 0) this.leaveOut(lease.batch, lost);
    if (lease.leftOut?.size === lease.batch.length) {
      lease.ended = true;
      return;
    }
    if (untaken.length > 0) {
      this.#pauseAfterFailure(now);
      lease.extendAt = now;
    } else {
      this.#failures = 0;
      lease.deadlineAt = now + seconds * 1000;
      lease.extendAt = extendAt(now, seconds * 1000, minGraceMs);
    }
    this.#setAlarm(this.#dueAt(lease));
  }

  /** One pause for all requests that fail together. */
  #pauseAfterFailure(sentAt: number): void {
    if (sentAt <= this.#failedAt) return;
    const now = this.#clock.monotonic();
    this.#failedAt = now;
    const pauseMs = coalesceMs + backoffMs(this.#failures++, retryBounds, this.#random);
    this.#nextRequestAt = Math.max(this.#nextRequestAt, now + pauseMs);
  }

  *#ages(): Generator<{ ageMs: number; messages: number }> {
    const now = this.#clock.monotonic();
    for (const lease of this.#leases.values()) {
      if (!lease.settling) yield { ageMs: now - lease.receivedAt, messages: lease.batch.length };
    }
  }
}

function batchesOf<B extends ExtendableBatch>(leases: readonly Lease<B>[]): B[] {
  return leases.map(({ batch }) => batch);
}

/** Early enough for an extension and a second try to be taken before the deadline. */
function extendAt(fromMs: number, lengthMs: number, graceMs: number): number {
  return fromMs + lengthMs - Math.max(graceMs, lengthMs / 10);
}

/** What is known of a batch when it is settled; times on the monotonic clock. */
export interface Settlement {
  readonly heldMs: number;
  /** When the lease ends if it is not extended any more. */
  readonly deadlineAt: number;
  /** When the last possible extension would end; Infinity without a total limit. */
  readonly lastDeadlineAt: number;
}
