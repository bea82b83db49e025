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
import { FaultSearch } from "./fault-search.ts";
import type { Parking } from "./parking.ts";
import { errorsByRow, rowTooLarge } from "./row-errors.ts";
import type { RowTrial } from "./row-trial.ts";
import { rowsBehind } from "./rows-behind.ts";
import { Suspects } from "./suspects.ts";

export interface RefusedRowsOptions {
  readonly clock: Clock;
  readonly parking: Parking;
  readonly observer: AppendObserver;
  readonly random: () => number;
  readonly trial: RowTrial;
  /** When a row with an ordering key is refused, what comes behind it in its key is given back. */
  readonly refusedHoldsKey: boolean;
  /** The refusal of a row about which BigQuery said this. */
  rowRejected(serverMessage: string): Refusal;
  /** These requests go again at once. */
  again(requests: readonly AppendRequest[], reason: RetryReason): void;
  /** Has the table looked at; then the rows are transcoded again, or things go on as given. */
  unlessOutdated(request: AppendRequest, goOn: () => void): void;
  /** A request is tried again that has waited for others to be stored, in vain. */
  retryInVain(request: AppendRequest): void;
  /** Requests go again that nobody has asked about. */
  goOn(): void;
}

/** After so many answers in a row that each name rows, but not all, a request is halved: one part more for five rows at least. */
const answersUntilHalved = 5;

export class RefusedRows {
  readonly #options: RefusedRowsOptions;
  /** When rows of a transcoder were stored last; monotonic milliseconds. */
  readonly #storedAtMs = new WeakMap<Transcoder, number>();
  readonly #suspects: Suspects;
  /** As long as nothing is stored, one search at a time goes on by guesses. */
  #guessing: FaultSearch | undefined;
  /** A suspect is on trial. */
  #trying = false;

  constructor(options: RefusedRowsOptions) {
    this.#options = options;
    const { clock, parking } = options;
    this.#suspects = new Suspects({
      clock,
      parking,
      retry: (request) => this.#retry(request),
      resume: (requests) => options.again(requests, "isolate"),
    });
  }

  /** Rows are refused without a name, and nothing is stored, for so long that it is worth telling. */
  get lasting(): boolean {
    return this.#suspects.lasting;
  }

  /** Rows of this transcoder were stored: other rows of it that are refused are themselves at fault. */
  stored(transcoder: Transcoder): void {
    this.#storedAtMs.set(transcoder, this.#options.clock.monotonic());
    this.#guessing = undefined;
    this.#suspects.taken((request) => this.#leadsOn(request));
  }

  close(): void {
    this.#suspects.close();
    this.#options.trial.close();
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
    // What is stored while the table is looked at speaks for the table, too.
    const sinceMs = this.#options.clock.monotonic();
    this.#options.unlessOutdated(request, () => {
      request.faultSearch = new FaultSearch(sinceMs);
      this.#search(request, request.faultSearch, serverMessage);
    });
  }

  #search(request: AppendRequest, search: FaultSearch, serverMessage: string): void {
    this.#guessing ??= search;
    switch (search.refused(request.rowCount, this.#storedAt(request), this.#guessing === search)) {
      case "refuse":
        this.#options.observer.refused("ROW_REJECTED", 1);
        this.#refuse(request, 0, this.#options.rowRejected(serverMessage));
        break;
      case "halve":
        this.#options.again(request.halves(), "isolate");
        break;
      case "wait":
        this.#options.unlessOutdated(request, () => this.#wait(request));
        break;
    }
  }

  #wait(request: AppendRequest): void {
    this.#options.observer.retried("isolate", 1);
    if (this.#leadsOn(request)) this.#options.again([request], "isolate");
    else this.#suspects.add(request);
  }

  /** A row that keeps others of its key from going in is put on trial with them: they alone may show what it is. */
  #retry(request: AppendRequest): void {
    const behind = this.#trying ? [] : rowsBehind(request, this.#options.random);
    if (behind.length > 0) void this.#try(request, behind);
    else this.#retryInVain(request);
  }

  async #try(request: AppendRequest, behind: readonly AppendRequest[]): Promise<void> {
    const { parking, trial } = this.#options;
    parking.keep(request);
    this.#trying = true;
    // It comes last: had the table been mended meanwhile, it would be taken.
    const verdicts = await trial.try([...behind, request.pick(() => true)]);
    this.#trying = false;
    if (!parking.leave(request)) return;
    if (verdicts.at(-1) === "refused" && verdicts.includes("taken")) this.#proved(request);
    else this.#retryInVain(request);
  }

  /** It goes again, and with it what shares its search: another refusal is the last. */
  #proved(request: AppendRequest): void {
    request.faultSearch?.prove();
    this.#options.again([request], "isolate");
    this.#suspects.taken((other) => this.#leadsOn(other));
    this.#options.goOn();
  }

  #retryInVain(request: AppendRequest): void {
    // Whichever request is refused next leads: this one, or one with new rows.
    this.#guessing = undefined;
    request.faultSearch?.startOver();
    this.#options.retryInVain(request);
  }

  /** Other rows were stored since the search in this request began, or would have been. */
  #leadsOn(request: AppendRequest): boolean {
    return request.faultSearch?.leadsOn(this.#storedAt(request)) === true;
  }

  /** When rows of the same kind were stored last. */
  #storedAt(request: AppendRequest): number {
    return this.#storedAtMs.get(request.pending.transcoder) ?? -Infinity;
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
