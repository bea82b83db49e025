/** Settles batches with ordering keys: what is told to the service of each key keeps the order of its messages. */
import type { Clock } from "../lib/clock.ts";
import { KeyOrder, type KeyReturn, type Telling } from "./key-order.ts";
import type { ReturnsByGeneration } from "./key-returns.ts";
import type { LeaseManager, Settlement } from "./lease-manager.ts";
import type { PulledBatch } from "./pulled-batch.ts";
import type { SubscriberRequests } from "./subscriber-requests.ts";

/** For how long messages of keys are tried to be given back at least. */
const minGiveBackMs = 60_000;

/** What cannot be given back comes again when its lease ends. */
const maxLeaseMs = 600_000;

interface Settling {
  readonly settlement: Settlement;
  readonly parts: Promise<void>[];
  readonly done: PromiseWithResolvers<void>;
}

export interface OrderedSettlementsOptions {
  readonly clock: Clock;
  readonly requests: Pick<SubscriberRequests, "tell">;
  readonly leases: Pick<LeaseManager<PulledBatch>, "leaveOut">;
  readonly returns: Pick<ReturnsByGeneration, "of">;
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
    for (const keyReturn of returns) this.#expectAgain(keyReturn, now);
    for (const telling of tellings) {
      this.#settling.get(telling.batch)!.parts.push(this.#tell(telling, now));
      if (telling.complete) void this.#complete(telling.batch);
    }
    return done.promise;
  }

  /** What goes back may lie in batches of different subscriptions of the name. */
  #expectAgain({ key, places, backAt }: KeyReturn<PulledBatch>, now: number): void {
    const byGeneration = Map.groupBy(places, ({ batch }) => batch.generation);
    for (const [generation, those] of byGeneration) {
      const ids = those.map(({ batch, i }) => batch.messageId(i));
      const groups = new Set(those.map(({ batch }) => batch)).size;
      this.#options.returns.of(generation).giveBack(key, ids, backAt, groups, now);
    }
  }

  async #tell({ batch, acks, backAt, keysBack }: Telling<PulledBatch>, now: number): Promise<void> {
    const { settlement } = this.#settling.get(batch)!;
    const { clock, requests, leases, returns, onGivenBack } = this.#options;
    const nacks = new Map([...backAt].toSorted(([a], [b]) => a - b).map(([i, at]) => [i, Math.max(0, at - now)]));
    leases.leaveOut(batch, nacks.keys());
    if (nacks.size > 0) onGivenBack(nacks);
    const dropped = (messages: readonly number[]): void => leases.leaveOut(batch, messages);
    const isBack = await requests.tell(batch, acks, nacks, triedFrom(settlement, now), { inOrder: true, dropped });
    leases.leaveOut(batch, acks);
    const atLatest = clock.monotonic() + (isBack ? 0 : maxLeaseMs);
    for (const key of keysBack) returns.of(batch.generation).returned(key, atLatest);
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
