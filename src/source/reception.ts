/**
 * What happens to a response before its messages are handed on. As a rule nothing. With exactly-once delivery the service has
 * to confirm that they are ours; with ordering, what comes too early is given back.
 */
import type { Clock } from "../lib/clock.ts";
import type { Arrivals } from "./arrivals.ts";
import type { ReturnsByGeneration } from "./key-returns.ts";
import type { Grant, LeaseManager } from "./lease-manager.ts";
import type { OrderedSettlements } from "./ordered-settlements.ts";
import type { PulledBatch } from "./pulled-batch.ts";
import type { SubscriptionProperties } from "./response-layout.ts";
import type { SubscriberRequests } from "./subscriber-requests.ts";

export interface ReceptionOptions {
  readonly clock: Clock;
  readonly requests: Pick<SubscriberRequests, "receipt" | "release">;
  readonly leases: LeaseManager<PulledBatch>;
  readonly arrivals: Arrivals<PulledBatch>;
  readonly settlements: Pick<OrderedSettlements, "add">;
  readonly returns: Pick<ReturnsByGeneration, "of">;
  /** How many messages have come and are held, with those that wait for their receipt. */
  readonly heldMessages: () => number;
  /** Messages are not handed on. @param bytes as `messageBytes` */
  readonly onDropped: (messages: number, bytes: number) => void;
  /** @param nacks message index → pause in milliseconds */
  readonly onGivenBack: (nacks: ReadonlyMap<number, number>) => void;
}

/** Which messages of a batch go on. */
interface Sorted {
  readonly kept: number[];
  /** Message index → pause in milliseconds. */
  readonly early: Map<number, number>;
}

export class Reception {
  readonly #options: ReceptionOptions;
  /** Batches whose receipts are under way. */
  readonly #confirming = new Set<Promise<void>>();
  #last: Promise<void> = Promise.resolve();

  constructor(options: ReceptionOptions) {
    this.#options = options;
  }

  /**
   * @param deadlineSeconds for how long the service leaves the messages to us
   * @param ageMs how long ago it may have sent them
   */
  receive(
    batch: PulledBatch,
    { exactlyOnce, ordered }: SubscriptionProperties,
    deadlineSeconds: number,
    ageMs: number,
  ): void {
    const now = this.#options.clock.monotonic();
    const grant: Grant = { seconds: deadlineSeconds, sinceMs: now - ageMs, confirmed: false };
    if (exactlyOnce) this.#confirm(batch, ordered);
    else this.#handOn(batch, ordered && batch.hasOrderingKeys, new Set(), grant);
  }

  /** Resolves when no receipt is under way. */
  async settled(): Promise<void> {
    while (this.#confirming.size > 0) await Promise.all(this.#confirming);
  }

  #confirm(batch: PulledBatch, ordered: boolean): void {
    const seconds = this.#receiptSeconds(batch);
    const grant: Grant = { seconds, sinceMs: this.#options.clock.monotonic(), confirmed: true };
    // Batches of an ordered subscription go on in the order in which they came.
    const before = ordered ? this.#last : undefined;
    const confirmed = this.#options.requests.receipt(batch, seconds).then(async ({ lost, untaken }) => {
      await before;
      this.#handOn(batch, ordered && batch.hasOrderingKeys, new Set([...lost, ...untaken]), grant);
    });
    this.#last = confirmed;
    this.#confirming.add(confirmed);
    void confirmed.finally(() => this.#confirming.delete(confirmed));
  }

  #receiptSeconds({ length, ackIdBytes }: PulledBatch): number {
    const held = this.#options.heldMessages();
    return this.#options.leases.receiptSeconds({ length: held, ackIdBytes: (ackIdBytes * held) / length });
  }

  /** @param missing messages that are not ours */
  #handOn(batch: PulledBatch, keyed: boolean, missing: ReadonlySet<number>, grant: Grant): void {
    const { leases, arrivals, settlements } = this.#options;
    const leaseEnd = grant.sinceMs + grant.seconds * 1000;
    const part = keyed || missing.size > 0 ? this.#part(batch, keyed, missing, leaseEnd) : batch;
    if (part.length === 0) return;
    if (keyed) settlements.add(part);
    leases.hold(part, grant);
    arrivals.push(part);
  }

  /** The messages that go on; those that come too early are given back. */
  #part(batch: PulledBatch, keyed: boolean, missing: ReadonlySet<number>, leaseEnd: number): PulledBatch {
    const { kept, early } = this.#sort(batch, keyed, missing, leaseEnd);
    if (kept.length === batch.length) return batch;
    if (early.size > 0) this.#giveBack(batch, early, leaseEnd);
    const part = batch.pick(kept);
    this.#options.onDropped(batch.length - part.length, batch.messageBytes - part.messageBytes);
    return part;
  }

  /** @param leaseEnd what is not ours comes again by then */
  #sort(batch: PulledBatch, keyed: boolean, missing: ReadonlySet<number>, leaseEnd: number): Sorted {
    const { clock } = this.#options;
    const returns = this.#options.returns.of(batch.generation);
    const now = clock.monotonic();
    const sorted: Sorted = { kept: [], early: new Map() };
    for (let i = 0; i < batch.length; i++) {
      const key = keyed ? batch.orderingKey(i) : "";
      if (missing.has(i)) {
        if (key !== "") returns.expect(key, batch.messageId(i), leaseEnd, now);
        continue;
      }
      const until = key === "" ? undefined : returns.admit(key, batch.messageId(i), now);
      if (until === undefined) sorted.kept.push(i);
      else sorted.early.set(i, until - now);
    }
    return sorted;
  }

  /** What cannot be given back comes again when its lease ends. */
  #giveBack(batch: PulledBatch, early: ReadonlyMap<number, number>, leaseEnd: number): void {
    const { requests, onGivenBack } = this.#options;
    const returns = this.#options.returns.of(batch.generation);
    const bySeconds = Map.groupBy(early.keys(), (i) => Math.ceil(early.get(i)! / 1000));
    for (const [seconds, messages] of bySeconds) {
      void requests.release(batch, messages, seconds).then(({ untaken }) => {
        for (const i of untaken) returns.delay(batch.orderingKey(i), leaseEnd);
      });
    }
    onGivenBack(early);
  }
}
