/**
 * Requests of one kind on their way to the service: ack ids are collected for a few milliseconds, sent together, and
 * sent again when the service cannot take them now. While it cannot, what comes in is collected, so that a fault of
 * the service never turns into a storm of small requests.
 */
import type { Clock, Timer } from "../lib/clock.ts";
import { backoffMs } from "../lib/retry.ts";
import type { AckIds, AckRequest } from "./ack-requests.ts";

/** What became of a request. */
export type Verdict = "taken" | "again" | "refused";

export interface LaneOptions {
  readonly clock: Clock;
  readonly newRequest: () => AckRequest;
  /** Sends a request; never rejects. */
  readonly send: (request: AckRequest) => Promise<Verdict>;
  /** A request is not tried any more. */
  readonly givenUp: (request: AckRequest) => void;
  readonly random?: () => number;
}

/** Ack ids of one batch that share a fate. */
interface Parcel {
  /** On the monotonic clock: after this the request is not tried again. */
  readonly giveUpAt: number;
  remaining: number;
  taken: boolean;
  readonly resolve: (taken: boolean) => void;
}

interface Draft {
  readonly request: AckRequest;
  /** How many ids of which parcel the request holds. */
  readonly parts: { readonly parcel: Parcel; readonly ids: number }[];
}

const collectMs = 5;
const maxInFlight = 16;
const maxSpare = 4;
const retryBounds = { initialMs: 100, maxMs: 10_000 };

export class RequestLane {
  readonly #options: LaneOptions;
  #open: Draft | undefined;
  /** Complete requests that wait for their turn. */
  readonly #ready: Draft[] = [];
  /** Requests that are done: what they hold in memory serves the next ones. */
  readonly #spare: AckRequest[] = [];
  #inFlight = 0;
  #failures = 0;
  #collecting: Timer | undefined;
  #pausing: Timer | undefined;
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** True when nothing is collected, waiting or under way. */
  get idle(): boolean {
    return !this.#open && this.#ready.length === 0 && this.#inFlight === 0;
  }

  /**
   * Adds the ack ids of a batch.
   *
   * @param indices  the messages meant; undefined: all `length` of them
   * @param giveUpAt on the monotonic clock: no try begins after it
   * @returns true when the service has taken all of them
   */
  add(source: AckIds, length: number, indices: readonly number[] | undefined, giveUpAt: number): Promise<boolean> {
    const count = indices?.length ?? length;
    if (count === 0) return Promise.resolve(true);
    if (this.#closed) return Promise.resolve(false);
    return new Promise((resolve) => {
      const parcel: Parcel = { giveUpAt, remaining: count, taken: true, resolve };
      this.#fill(source, indices, count, parcel);
      this.#collecting ??= this.#options.clock.setTimer(() => this.#collected(), collectMs);
    });
  }

  /** Sends what is collected without waiting for more. */
  flush(): void {
    this.#pausing?.cancel();
    this.#pausing = undefined;
    this.#collected();
  }

  /** Gives up what is not on its way yet. */
  close(): void {
    this.#closed = true;
    this.#collecting?.cancel();
    this.#pausing?.cancel();
    this.#pausing = undefined;
    this.#complete();
    for (const draft of this.#ready.splice(0)) this.#giveUp(draft);
  }

  #fill(source: AckIds, indices: readonly number[] | undefined, count: number, parcel: Parcel): void {
    for (let from = 0; from < count;) {
      const { request, parts } = (this.#open ??= this.#newDraft());
      const reached = request.addIds(source, indices, from, count);
      if (reached > from) parts.push({ parcel, ids: reached - from });
      from = reached;
      if (from < count) {
        this.#complete();
        this.#dispatch();
      }
    }
  }

  #newDraft(): Draft {
    return { request: this.#spare.pop() ?? this.#options.newRequest(), parts: [] };
  }

  #complete(): void {
    if (this.#open) this.#ready.push(this.#open);
    this.#open = undefined;
  }

  #collected(): void {
    this.#collecting?.cancel();
    this.#collecting = undefined;
    if (this.#pausing) return;
    this.#complete();
    this.#dispatch();
  }

  #dispatch(): void {
    while (!this.#pausing && this.#inFlight < maxInFlight && this.#ready.length > 0) {
      void this.#send(this.#ready.shift()!);
    }
  }

  async #send(draft: Draft): Promise<void> {
    this.#inFlight++;
    const verdict = await this.#options.send(draft.request);
    this.#inFlight--;
    if (verdict === "again" && !this.#closed && this.#mayTryAgain(draft)) this.#retryLater(draft);
    else if (verdict === "taken") this.#taken(draft);
    else this.#giveUp(draft);
    this.#dispatch();
  }

  #mayTryAgain(draft: Draft): boolean {
    const now = this.#options.clock.monotonic();
    return draft.parts.some(({ parcel }) => parcel.giveUpAt > now);
  }

  #retryLater(draft: Draft): void {
    this.#ready.unshift(draft);
    this.#pausing ??= this.#options.clock.setTimer(
      () => this.flush(),
      backoffMs(this.#failures++, retryBounds, this.#options.random),
    );
  }

  #taken(draft: Draft): void {
    this.#failures = 0;
    this.#done(draft, true);
  }

  #giveUp(draft: Draft): void {
    this.#options.givenUp(draft.request);
    this.#done(draft, false);
  }

  #done({ request, parts }: Draft, taken: boolean): void {
    for (const { parcel, ids } of parts) settle(parcel, ids, taken);
    request.clear();
    if (this.#spare.length < maxSpare) this.#spare.push(request);
  }
}

function settle(parcel: Parcel, ids: number, taken: boolean): void {
  parcel.remaining -= ids;
  parcel.taken &&= taken;
  if (parcel.remaining === 0) parcel.resolve(parcel.taken);
}
