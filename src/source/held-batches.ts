/** Batches that are held: leased, settled or given back, and forgotten when the service has taken that. */
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { LimitedLog } from "../lib/limited-log.ts";
import type { Fates } from "../message.ts";
import { AwayMessages } from "./away-messages.ts";
import type { FlowControl } from "./flow-control.ts";
import { ReturnsByGeneration } from "./key-returns.ts";
import { LeaseManager, type LeaseOptions, type Settlement } from "./lease-manager.ts";
import { OrderedSettlements } from "./ordered-settlements.ts";
import type { LeaseEnd, PullObserver } from "./pull-observer.ts";
import type { PulledBatch } from "./pulled-batch.ts";
import type { SubscriberRequests } from "./subscriber-requests.ts";

export interface HeldBatchesOptions {
  /** `projects/P/subscriptions/S` */
  readonly subscription: string;
  readonly leases: LeaseOptions;
  readonly requests: SubscriberRequests;
  readonly flow: FlowControl;
  /** How many messages may be outstanding on the streams that are open. */
  readonly window: number;
  /** So many messages are away for a while that the streams have to be opened anew. */
  readonly onAway: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: PullObserver;
  readonly random: () => number;
}

const leaseEnds: Readonly<Record<LeaseEnd, string>> = {
  limit: "messages are held longer than maxAckExtensionPeriod allows; they may be delivered again",
  released: "messages are held longer than releaseAfter allows; they are given back",
  expired:
    "leases may have ended before they could be extended: messages lay unread while pulling had stopped, or the process or its network stood still; they may be delivered again",
};

export class HeldBatches {
  readonly #options: HeldBatchesOptions;
  readonly leases: LeaseManager<PulledBatch>;
  readonly returns = new ReturnsByGeneration();
  readonly ordered: OrderedSettlements;
  readonly #away: AwayMessages;
  readonly #log: LimitedLog;
  /** What has been handed to the service and not been taken yet. */
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: HeldBatchesOptions) {
    const { requests, clock, log, random, window } = options;
    this.#options = options;
    this.#log = new LimitedLog(log, clock);
    this.#away = new AwayMessages(window);
    this.leases = new LeaseManager(
      options.leases,
      clock,
      {
        limits: () => requests.limits,
        extend: (batch, seconds, messages) => requests.extend(batch, seconds, messages),
        release: (batch) => this.#release(batch),
        limitReached: (batch) => this.#leasesEnded(batch.length, "limit"),
        expired: (messages) => this.#leasesEnded(messages, "expired"),
      },
      random,
    );
    const [leases, returns] = [this.leases, this.returns];
    this.ordered = new OrderedSettlements({
      clock,
      requests,
      leases,
      returns,
      onGivenBack: (nacks) => this.goAway(nacks),
    });
  }

  /** Resolves when the service has taken it. A batch that is not held any more is left alone. */
  async settle(batch: PulledBatch, { nacks }: Fates): Promise<void> {
    const settlement = this.leases.settle(batch, nacks);
    if (!settlement) return;
    this.#options.observer.timeToAck(settlement.heldMs / 1000, batch.length);
    await this.#tell(batch, nacks, settlement);
  }

  /** Every message of the batch may be delivered again at once. */
  giveBack(batch: PulledBatch): void {
    const everything = new Map(Array.from({ length: batch.length }, (_, i) => [i, 0]));
    const settlement = this.leases.settle(batch, everything);
    if (settlement) void this.#tell(batch, everything, settlement);
  }

  /** Gives everything back whose fate is not known. Resolves when the service has all that is to be told it. */
  async finish(): Promise<void> {
    for (const batch of this.leases.unsettled()) this.giveBack(batch);
    while (this.#underWay.size > 0) {
      this.#options.requests.flush();
      await Promise.all(this.#underWay);
    }
  }

  /**
   * Messages were given back for a while.
   *
   * @param nacks message index → pause in milliseconds
   */
  goAway(nacks: ReadonlyMap<number, number>): void {
    const pauses = [...nacks.values()].filter((afterMs) => afterMs > 0);
    if (pauses.length === 0) return;
    const now = this.#options.clock.monotonic();
    const isFull = this.#away.add(pauses.length, now + pauses.reduce((a, b) => Math.max(a, b)), now);
    if (isFull) this.#options.onAway();
  }

  tellOutstanding(): void {
    const { observer, flow } = this.#options;
    observer.outstanding(flow.messages, flow.bytes, this.leases.size);
  }

  async #tell(batch: PulledBatch, nacks: ReadonlyMap<number, number>, settlement: Settlement): Promise<void> {
    await this.#track(
      this.ordered.has(batch)
        ? this.ordered.settle(batch, nacks, settlement)
        : this.#settleUnordered(batch, nacks, settlement),
    );
    this.leases.drop(batch);
    this.#options.flow.remove(batch.length, batch.messageBytes);
    this.tellOutstanding();
  }

  async #settleUnordered(
    batch: PulledBatch,
    nacks: ReadonlyMap<number, number>,
    settlement: Settlement,
  ): Promise<void> {
    const dropped = (messages: readonly number[]): void => this.leases.leaveOut(batch, messages);
    await this.#options.requests.settle(batch, nacks, settlement, dropped);
    this.goAway(nacks);
  }

  #track<T>(promise: Promise<T>): Promise<T> {
    this.#underWay.add(promise);
    return promise.finally(() => this.#underWay.delete(promise));
  }

  /** Held too long: somebody else may try. The batch stays here, and so counts, until it is settled. */
  #release(batch: PulledBatch): void {
    this.#leasesEnded(batch.length, "released");
    void this.#track(this.#options.requests.release(batch));
  }

  #leasesEnded(messages: number, reason: LeaseEnd): void {
    const { observer, subscription } = this.#options;
    observer.leaseEnded(messages, reason);
    this.#log.warn({ subscription, messages }, leaseEnds[reason]);
  }
}
