/**
 * Requests that BigQuery refused for their rows: it takes a request whole or not at all, and need not name all bad
 * rows, or any. Named rows are refused and the others go again; when answers keep naming some only, the request is
 * halved from time to time, so that good rows do not travel once for every bad one. Where no row is named, the
 * request is halved until the bad row is left alone.
 */
import type { Refusal } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { AppendObserver, RetryReason } from "./append-observer.ts";
import type { AppendRequest } from "./append-request.ts";
import { FaultSearch, searchPauseMs } from "./fault-search.ts";
import { errorsByRow, rowTooLarge } from "./row-errors.ts";

export interface RefusedRowsOptions {
  readonly clock: Clock;
  readonly observer: AppendObserver;
  /** When a row with an ordering key is refused, what comes behind it in its key is given back. */
  readonly refusedHoldsKey: boolean;
  /** The refusal of a row about which BigQuery said this. */
  rowRejected(serverMessage: string): Refusal;
  /** These requests go again at once. */
  again(requests: readonly AppendRequest[], reason: RetryReason): void;
  /** Has the table looked at; then the rows are transcoded again, or things go on as given. */
  unlessOutdated(request: AppendRequest, goOn: () => void): void;
  /** The request waits until other rows show whether it is its rows that are at fault. */
  untilOthersStored(request: AppendRequest): void;
}

/** After so many answers in a row that each name rows, but not all, a request is halved: one part more for five rows at least. */
const answersUntilHalved = 5;

export class RefusedRows {
  readonly #options: RefusedRowsOptions;
  /** When rows of a transcoder were stored last; monotonic milliseconds. */
  readonly #storedAtMs = new WeakMap<Transcoder, number>();
  /** A search finds nothing as long as nothing is stored: until then another one may begin only now and then. */
  #nextSearchAtMs = -Infinity;

  constructor(options: RefusedRowsOptions) {
    this.#options = options;
  }

  /** Rows of this transcoder were stored: other rows of it that are refused are themselves at fault. */
  stored(transcoder: Transcoder): void {
    this.#storedAtMs.set(transcoder, this.#options.clock.monotonic());
    this.#nextSearchAtMs = -Infinity;
  }

  /** BigQuery refused the request for some of its rows. */
  refused(request: AppendRequest, answer: AppendAnswer): void {
    const errors = errorsByRow(answer.rowErrors, request.rowCount);
    if (errors.size === 0) {
      this.#unnamed(request, answer.message);
      return;
    }
    const others = request.pick((position) => !errors.has(position));
    for (const [position, { message }] of errors) this.#refuse(request, position, this.#options.rowRejected(message));
    this.#options.observer.refused("ROW_REJECTED", errors.size);
    if (others.rowCount === 0) return;
    others.namingAnswers = request.namingAnswers + 1;
    const halve = others.namingAnswers >= answersUntilHalved && others.rowCount > 1;
    this.#options.again(halve ? others.halves() : [others], "rowErrors");
  }

  /** The table is looked at before the search begins, and again whenever it comes to a halt. */
  #unnamed(request: AppendRequest, serverMessage: string): void {
    const { faultSearch } = request;
    if (faultSearch) {
      this.#search(request, faultSearch, serverMessage);
      return;
    }
    this.#options.unlessOutdated(request, () => {
      request.faultSearch = this.#newSearch();
      this.#search(request, request.faultSearch, serverMessage);
    });
  }

  #newSearch(): FaultSearch {
    const now = this.#options.clock.monotonic();
    const mayHalve = now >= this.#nextSearchAtMs;
    if (mayHalve) this.#nextSearchAtMs = now + searchPauseMs;
    return new FaultSearch(now, mayHalve);
  }

  #search(request: AppendRequest, search: FaultSearch, serverMessage: string): void {
    const storedAtMs = this.#storedAtMs.get(request.pending.transcoder) ?? -Infinity;
    switch (search.refused(request.rowCount, storedAtMs)) {
      case "refuse":
        this.#options.observer.refused("ROW_REJECTED", 1);
        this.#refuse(request, 0, this.#options.rowRejected(serverMessage));
        break;
      case "halve":
        this.#options.again(request.halves(), "isolate");
        break;
      case "wait":
        this.#options.unlessOutdated(request, () => this.#options.untilOthersStored(request));
        break;
    }
  }

  /** The request is larger than BigQuery takes. Returns what may be sent instead. */
  tooLarge(request: AppendRequest): readonly AppendRequest[] {
    if (request.rowCount > 1) return request.halves();
    this.#options.observer.refused("ROW_TOO_LARGE", 1);
    this.#refuse(request, 0, rowTooLarge);
    return [];
  }

  #refuse(request: AppendRequest, position: number, refusal: Refusal): void {
    request.refuse(position, refusal, this.#options.refusedHoldsKey);
  }
}
