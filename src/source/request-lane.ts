/**
 * Requests of one kind on their way to the service: ack ids are collected for a few milliseconds, sent together, and
 * sent again when the service cannot take them now. While it cannot, what comes in is collected, so that a fault of
 * the service never turns into a storm of small requests. Ids that fail alone are sent again alone, the others go on.
 */
import type { Clock, Timer } from "../lib/clock.ts";
import { type BackoffBounds, backoffMs } from "../lib/retry.ts";
import { AckDraft, type Dropped, Parcel, type ParcelResult } from "./ack-draft.ts";
import type { AckFailures } from "./ack-failures.ts";
import type { AckIds, AckRequest } from "./ack-requests.ts";
import { RestingIds } from "./resting-ids.ts";

/** What the service says of a request. */
export type Verdict =
  | { readonly kind: "taken" }
  | (NotTaken &
      (
        | {
            /** `again`: it cannot take it now. `refused`: it never will. `badId`: for the sake of some id; it does not say which. */
            readonly kind: "again" | "refused" | "badId";
          }
        /** It has taken it, but for these ids. */
        | { readonly kind: "partly"; readonly failures: AckFailures }
      ));

interface NotTaken {
  /** The status of the call, by name. */
  readonly code: string;
}

export interface LaneOptions {
  readonly clock: Clock;
  readonly newRequest: () => AckRequest;
  /** Sends a request; never rejects. */
  readonly send: (request: AckRequest) => Promise<Verdict>;
  /** The service has taken so many ids. */
  readonly taken: (ids: number) => void;
  /** So many ids are not tried any more. @param code the status of their last call, by name; CANCELLED if there was none */
  readonly givenUp: (ids: number, code: string) => void;
  /** How many requests may be under way at a time; with 1 they arrive in order. */
  readonly maxInFlight?: number;
  /** So much is held that nothing more is pulled. */
  readonly isCrowded?: () => boolean;
  /** How often a request is tried at most. */
  readonly maxTries?: number;
  readonly random?: () => number;
}

const collectMs = 5;
const maxSpare = 4;
const retryBounds: BackoffBounds = { initialMs: 100, maxMs: 10_000 };
/** For how long ids that fail alone are tried. */
const failuresForMs = 600_000;
/**
 * So often an id is tried that is taken only after an earlier message of its ordering key, when the process is crowded. Where that
 * message is not held here, it has to come (again) first, and what waits for it could take the very room that it needs.
 */
const crowdedTries = 3;

/**
 * When so many ids in a row were bad, one by one, all are taken to be, until one is taken: that the subscription is another
 * one by now has that look, and to look for good ids would take two requests for each.
 */
const enoughBadIds = 1000;
/** The code of what is given up without an answer. */
const unsent = "CANCELLED";

const allTaken: ParcelResult = { lost: [], untaken: [] };

export class RequestLane {
  readonly #options: LaneOptions;
  #open: AckDraft | undefined;
  /** Complete requests that wait for their turn. */
  readonly #ready: AckDraft[] = [];
  readonly #resting: RestingIds;
  /** Requests that are done: what they hold in memory serves the next ones. */
  readonly #spare: AckRequest[] = [];
  #inFlight = 0;
  #failures = 0;
  /** Bad ids since the last that was taken. */
  #badIds = 0;
  #collecting: Timer | undefined;
  #pausing: Timer | undefined;
  #closed = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    this.#resting = new RestingIds({
      clock: options.clock,
      random: options.random,
      newDraft: (tries) => new AckDraft(this.#newRequest(), tries),
      rested: (draft) => this.#rested(draft),
    });
  }

  /** True when nothing is collected, waiting or under way. */
  get idle(): boolean {
    return !this.#open && this.#ready.length === 0 && this.#resting.isEmpty && this.#inFlight === 0;
  }

  /**
   * Adds the ack ids of a batch.
   *
   * @param indices  the messages meant; undefined: all `length` of them
   * @param giveUpAt on the monotonic clock: no second try begins after it
   */
  add(
    source: AckIds,
    length: number,
    indices: readonly number[] | undefined,
    giveUpAt: number,
    dropped?: Dropped,
  ): Promise<ParcelResult> {
    const count = indices?.length ?? length;
    if (count === 0) return Promise.resolve(allTaken);
    return new Promise((resolve) => {
      const parcel = new Parcel(source, indices, giveUpAt, count, resolve, dropped);
      if (this.#closed) return parcel.untaken(0, count);
      this.#fill(parcel, count);
      this.#collecting ??= this.#options.clock.setTimer(() => this.#collected(), collectMs);
    });
  }

  /** Sends what is collected without waiting for more, and what rests without waiting for the end of its pause. */
  flush(): void {
    this.#pausing?.cancel();
    this.#pausing = undefined;
    this.#resting.wakeAll();
    this.#collected();
  }

  /** Gives up what is not on its way yet. */
  close(): void {
    this.#closed = true;
    this.#collecting?.cancel();
    this.#pausing?.cancel();
    this.#pausing = undefined;
    this.#resting.wakeAll();
    this.#complete();
    for (const draft of this.#ready.splice(0)) this.#giveUp(draft, unsent);
  }

  #fill(parcel: Parcel, count: number): void {
    for (let from = 0; from < count;) {
      from = (this.#open ??= new AckDraft(this.#newRequest())).fill(parcel, from, count);
      if (from < count) {
        this.#complete();
        this.#dispatch();
      }
    }
  }

  #newRequest(): AckRequest {
    return this.#spare.pop() ?? this.#options.newRequest();
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
    const { maxInFlight = 16 } = this.#options;
    while (!this.#pausing && !this.#closed && this.#inFlight < maxInFlight && this.#ready.length > 0) {
      void this.#send(this.#ready.shift()!);
    }
  }

  async #send(draft: AckDraft): Promise<void> {
    this.#inFlight++;
    const verdict = await this.#options.send(draft.request);
    this.#inFlight--;
    this.#judge(draft, verdict);
    this.#dispatch();
  }

  #judge(draft: AckDraft, verdict: Verdict): void {
    const { maxTries = Infinity, clock } = this.#options;
    if (verdict.kind !== "again") this.#failures = 0;
    draft.tries++;
    if (verdict.kind === "taken") this.#taken(draft);
    else if (verdict.kind === "partly") this.#sort(draft, verdict);
    else if (verdict.kind === "badId") this.#search(draft, verdict.code);
    else if (verdict.kind === "refused" || this.#closed || draft.tries >= maxTries) this.#giveUp(draft, verdict.code);
    else if (draft.isWanted(clock.monotonic())) this.#retryLater(draft);
    else this.#giveUp(draft, verdict.code);
  }

  #retryLater(draft: AckDraft): void {
    this.#ready.unshift(draft);
    this.#pausing ??= this.#options.clock.setTimer(
      () => this.#resume(),
      backoffMs(this.#failures++, retryBounds, this.#options.random),
    );
  }

  #resume(): void {
    this.#pausing = undefined;
    this.#collected();
  }

  #taken(draft: AckDraft): void {
    this.#badIds = 0;
    this.#options.taken(draft.request.ids);
    draft.taken();
    this.#recycle(draft);
  }

  #giveUp(draft: AckDraft, code: string): void {
    this.#options.givenUp(draft.request.ids, code);
    draft.untaken();
    this.#recycle(draft);
  }

  /** The bad ids are looked for, one by one. */
  #search(draft: AckDraft, code: string): void {
    const { ids } = draft.request;
    if (ids > 1 && !this.#closed && this.#badIds < enoughBadIds) {
      this.#ready.unshift(...draft.halves(() => this.#newRequest()));
    } else {
      this.#badIds += ids;
      this.#options.givenUp(ids, code);
      draft.lost();
    }
    this.#recycle(draft);
  }

  #sort(draft: AckDraft, { failures, code }: { readonly failures: AckFailures; readonly code: string }): void {
    const { clock, maxTries = Infinity, isCrowded, taken, givenUp } = this.#options;
    const now = clock.monotonic();
    const triesUnordered = isCrowded?.() ? crowdedTries : Infinity;
    const counts = draft.sort(failures, (id, failure) => {
      const { parcel } = id;
      parcel.failuresUntil = Math.min(parcel.failuresUntil, now + failuresForMs);
      const inTime = now < parcel.failuresUntil && parcel.giveUpAt > now && !this.#closed;
      const mayTry = inTime && draft.tries < (failure === "unordered" ? Math.min(maxTries, triesUnordered) : maxTries);
      if (mayTry) this.#resting.add(id, draft.tries);
      return mayTry;
    });
    if (counts.taken > 0) taken(counts.taken);
    if (counts.givenUp > 0) givenUp(counts.givenUp, code);
    this.#recycle(draft);
  }

  #rested(draft: AckDraft): void {
    this.#ready.push(draft);
    this.#dispatch();
  }

  #recycle({ request }: AckDraft): void {
    request.clear();
    if (this.#spare.length < maxSpare) this.#spare.push(request);
  }
}
