/** A request on its way, and whose ack ids are in it. */
import type { AckFailure, AckFailures } from "./ack-failures.ts";
import type { AckIds, AckRequest } from "./ack-requests.ts";

/** What became of ack ids that were handed over together. */
export interface ParcelResult {
  /** Messages whose ids the service does not take, now or ever. */
  readonly lost: readonly number[];
  /** Messages whose ids it did not take in time. */
  readonly untaken: readonly number[];
}

/** Is told of messages whose ids are lost or untaken, while others of the parcel may still be tried. */
export type Dropped = (messages: readonly number[]) => void;

/** Ack ids of one batch that share a fate. */
export class Parcel {
  readonly source: AckIds;
  /** Which messages of the source are meant; undefined: all. */
  readonly indices: readonly number[] | undefined;
  /** On the monotonic clock: no try begins after it. */
  readonly giveUpAt: number;
  /** The same for ids that fail alone, from the first such failure on. */
  failuresUntil = Infinity;
  #remaining: number;
  readonly #lost: number[] = [];
  readonly #untaken: number[] = [];
  readonly #resolve: (result: ParcelResult) => void;
  readonly #dropped: Dropped;

  constructor(
    source: AckIds,
    indices: readonly number[] | undefined,
    giveUpAt: number,
    count: number,
    resolve: (result: ParcelResult) => void,
    dropped: Dropped = () => {},
  ) {
    this.source = source;
    this.indices = indices;
    this.giveUpAt = giveUpAt;
    this.#remaining = count;
    this.#resolve = resolve;
    this.#dropped = dropped;
  }

  taken(ids: number): void {
    this.#remaining -= ids;
    if (this.#remaining === 0) this.#resolve({ lost: this.#lost, untaken: this.#untaken });
  }

  /** @param position the first of the ids, as counted in the parcel */
  lost(position: number, ids: number): void {
    this.#drop(position, ids, this.#lost);
  }

  untaken(position: number, ids: number): void {
    this.#drop(position, ids, this.#untaken);
  }

  #drop(position: number, ids: number, others: number[]): void {
    const messages = Array.from({ length: ids }, (_, k) => this.indices?.[position + k] ?? position + k);
    for (const message of messages) others.push(message);
    this.#dropped(messages);
    this.taken(ids);
  }
}

/** Ids of one parcel that lie side by side in a request. */
interface Part {
  readonly parcel: Parcel;
  readonly position: number;
  ids: number;
}

/** An ack id in a request, and whose it is. */
export interface PlacedId {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly parcel: Parcel;
  /** Of the id in its parcel. */
  readonly position: number;
}

export class AckDraft {
  readonly request: AckRequest;
  /** How often it was sent in vain. */
  tries: number;
  readonly #parts: Part[] = [];

  constructor(request: AckRequest, tries = 0) {
    this.request = request;
    this.tries = tries;
  }

  /** Adds ids of a parcel until the request is full. Returns the first position that is not in it. */
  fill(parcel: Parcel, from: number, to: number): number {
    const reached = this.request.addIds(parcel.source, parcel.indices, from, to);
    if (reached > from) this.#parts.push({ parcel, position: from, ids: reached - from });
    return reached;
  }

  /** Adds an id of another request; false when this one is full. */
  add({ bytes, start, end, parcel, position }: PlacedId): boolean {
    if (!this.request.add(bytes, start, end)) return false;
    const last = this.#parts.at(-1);
    if (last?.parcel === parcel && last.position + last.ids === position) last.ids++;
    else this.#parts.push({ parcel, position, ids: 1 });
    return true;
  }

  /** Whether some of it is worth a try that begins now. */
  isWanted(now: number): boolean {
    return this.#parts.some(({ parcel }) => parcel.giveUpAt > now);
  }

  taken(): void {
    for (const { parcel, ids } of this.#parts) parcel.taken(ids);
  }

  lost(): void {
    for (const { parcel, position, ids } of this.#parts) parcel.lost(position, ids);
  }

  untaken(): void {
    for (const { parcel, position, ids } of this.#parts) parcel.untaken(position, ids);
  }

  /** Both halves of a request of two ids or more, cut between two parcels if there are several. */
  halves(newRequest: () => AckRequest): [AckDraft, AckDraft] {
    const first = new AckDraft(newRequest(), this.tries);
    const second = new AckDraft(newRequest(), this.tries);
    const cut = this.#middle();
    for (const id of this.#ids()) (first.request.ids < cut ? first : second).add(id);
    return [first, second];
  }

  /**
   * Settles each id by what the service says of it, but those that may be tried again.
   *
   * @param retry takes an id that failed for now for another try; false when it may not be tried any more
   * @returns how many were taken, and how many are given up
   */
  sort(
    failures: AckFailures,
    retry: (id: PlacedId, failure: Exclude<AckFailure, "permanent">) => boolean,
  ): { taken: number; givenUp: number } {
    let [taken, givenUp] = [0, 0];
    for (const id of this.#ids()) {
      const { bytes, start, end, parcel, position } = id;
      const failure = failures.get(bytes.toString("utf8", start, end));
      if (!failure) {
        taken++;
        parcel.taken(1);
      } else if (failure === "permanent") {
        givenUp++;
        parcel.lost(position, 1);
      } else if (!retry(id, failure)) {
        givenUp++;
        parcel.untaken(position, 1);
      }
    }
    return { taken, givenUp };
  }

  /** How many ids come before the cut. */
  #middle(): number {
    const half = this.request.ids / 2;
    let cut = 0;
    let before = 0;
    for (const { ids } of this.#parts.slice(0, -1)) {
      before += ids;
      if (Math.abs(before - half) < Math.abs(cut - half)) cut = before;
    }
    return cut === 0 ? Math.ceil(half) : cut;
  }

  *#ids(): Generator<PlacedId> {
    const { bytes } = this.request;
    const ranges = this.request.idRanges();
    for (const { parcel, position, ids } of this.#parts) {
      for (let k = 0; k < ids; k++) {
        const { start, end } = ranges.next().value as { start: number; end: number };
        yield { bytes, start, end, parcel, position: position + k };
      }
    }
  }
}
