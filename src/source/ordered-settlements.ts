/** Settles batches with ordering keys: what is told to the service of each key keeps the order of its messages. */
import type { Clock } from "../lib/clock.ts";
import { KeyOrder } from "./key-order.ts";
import type { KeyReturns } from "./key-returns.ts";
import type { LeaseManager, Settlement } from "./lease-manager.ts";
import type { PulledBatch } from "./pulled-batch.ts";
import type { SubscriberRequests } from "./subscriber-requests.ts";

/** For how long messages of keys are tried to be given back at least. */
const minGiveBackMs = 60_000;

interface Settling {
  readonly settlement: Settlement;
  readonly parts: Promise<void>[];
  readonly done: PromiseWithResolvers<void>;
}

export interface OrderedSettlementsOptions {
  readonly clock: Clock;
  readonly requests: Pick<SubscriberRequests, "tell">;
  readonly leases: Pick<LeaseManager<PulledBatch>, "leaveOut">;
  readonly returns: KeyReturns;
  /** @param nacks message index → pause in milliseconds */
  readonly onGivenBack: (nacks: ReadonlyMap<number, number>) => void;
}

export class OrderedSettlements {
  readonly #options: OrderedSettlementsOptions;
  readonly #order = new KeyOrder<PulledBatch>();
  readonly #known = new WeakSet<PulledBatch>();
  readonly #settling = new Map<PulledBatch, Settling>();

  constructor(options: OrderedSettlementsOptions) {
    this.#options = options;
  }

  /** Whether the batch came by `add`. */
  has(batch: PulledBatch): boolean {
    return this.#known.has(batch);
  }

  /** A batch is handed on. */
  add(batch: PulledBatch): void {
    this.#known.add(batch);
    this.#order.add(batch);
  }

  /** Resolves when the service has taken all of it, which may be only after other batches are settled. */
  settle(batch: PulledBatch, nacks: ReadonlyMap<number, number>, settlement: Settlement): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#settling.set(batch, { settlement, parts: [], done });
    const now = this.#options.clock.monotonic();
    const { tellings, returns } = this.#order.settle(batch, nacks, now);
    for (const { key, places, backAt, complete } of returns) {
      const ids = places.map((place) => place.batch.messageId(place.i));
      this.#options.returns.giveBack(key, ids, backAt, complete, now);
    }
    for (const { batch: told, acks, backAt, complete } of tellings) {
      this.#tell(told, acks, backAt, now);
      if (complete) void this.#complete(told);
    }
    return done.promise;
  }

  #tell(batch: PulledBatch, acks: readonly number[], backAt: ReadonlyMap<number, number>, now: number): void {
    const { settlement, parts } = this.#settling.get(batch)!;
    const { requests, leases, onGivenBack } = this.#options;
    const nacks = new Map([...backAt].toSorted(([a], [b]) => a - b).map(([i, at]) => [i, Math.max(0, at - now)]));
    leases.leaveOut(batch, nacks.keys());
    const told = requests.tell(batch, acks, nacks, triedFrom(settlement, now), true);
    parts.push(told.then(() => leases.leaveOut(batch, acks)));
    if (nacks.size > 0) onGivenBack(nacks);
  }

  async #complete(batch: PulledBatch): Promise<void> {
    const { parts, done } = this.#settling.get(batch)!;
    this.#settling.delete(batch);
    await Promise.all(parts);
    done.resolve();
  }
}

/**
 * A batch that waited for others was extended since it was settled. If what it gives back were left to the end of that lease,
 * those behind would come first, and not wait for so long.
 */
function triedFrom(settlement: Settlement, now: number): Settlement {
  return { ...settlement, deadlineAt: Math.max(settlement.deadlineAt, now + minGiveBackMs) };
}
