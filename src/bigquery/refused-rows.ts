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
import { comparableRows } from "./comparable-rows.ts";
import { FaultSearch } from "./fault-search.ts";
import type { Parking } from "./parking.ts";
import { errorsByRow, rowTooLarge } from "./row-errors.ts";
import type { RowTrial } from "./row-trial.ts";
import { Suspects } from "./suspects.ts";
import { Witnesses } from "./witnesses.ts";

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
  readonly #witnesses: Witnesses;
  /** As long as nothing is stored, one search at a time goes on by guesses. */
  #guessing: FaultSearch | undefined;
  /** A suspect is on trial. */
  #trying = false;

  constructor(options: RefusedRowsOptions) {
    this.#options = options;
    const { clock, parking } = options;
    this.#witnesses = new Witnesses(clock);
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

  /** The rows of a request were stored: others of their kind that are refused are themselves at fault. */
  stored(request: AppendRequest): void {
    this.#storedAtMs.set(request.pending.transcoder, this.#options.clock.monotonic());
    this.#witnesses.note(request);
    this.#guessing = undefined;
    this.#suspects.taken((suspect) => this.#mayGoOn(suspect));
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
    const { faultSearch, refusedAtMs } = request;
    const nowMs = this.#options.clock.monotonic();
    request.refusedAtMs = nowMs;
    if (faultSearch) {
      this.#search(request, faultSearch, refusedAtMs, serverMessage);
      return;
    }
    this.#options.unlessOutdated(request, () => {
      request.faultSearch = new FaultSearch(nowMs);
      if (request.rowCount === 1) this.#wait(request);
      else this.#search(request, request.faultSearch, undefined, serverMessage);
    });
  }

  /** @param beforeMs when the request was refused before, by itself or with others; monotonic milliseconds */
  #search(request: AppendRequest, search: FaultSearch, beforeMs: number | undefined, serverMessage: string): void {
    this.#guessing ??= search;
    switch (search.refused(request.rowCount, beforeMs, this.#takenAt(request), this.#guessing === search)) {
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
    if (this.#mayGoOn(request)) this.#options.again([request], "isolate");
    else this.#suspects.add(request);
  }

  /** What waits is put on trial, where there is something to compare it with. */
  #retry(request: AppendRequest): void {
    const others = this.#trying || request.rowCount > 1 ? [] : this.#comparable(request);
    if (others.length > 0) void this.#try(request, others);
    else this.#retryInVain(request);
  }

  /** Rows of the same kind: one that was stored, and those that cannot show by themselves what is wrong. */
  #comparable(request: AppendRequest): readonly AppendRequest[] {
    const witness = this.#witnesses.of(request.pending.transcoder);
    const others = comparableRows(request, this.#options.random);
    return witness ? [witness, ...others] : others;
  }

  async #try(request: AppendRequest, others: readonly AppendRequest[]): Promise<void> {
    const { parking, trial, clock } = this.#options;
    parking.keep(request);
    this.#trying = true;
    // It comes last: had the table been mended meanwhile, it would be taken.
    const verdicts = await trial.try([...others, request.pick(() => true)]);
    this.#trying = false;
    if (!parking.leave(request)) return;
    if (verdicts.at(-1) !== "refused" || !verdicts.includes("taken")) {
      this.#retryInVain(request);
      return;
    }
    request.faultSearch?.prove(clock.monotonic());
    this.#options.again([request], "isolate");
    this.#suspects.taken((suspect) => this.#mayGoOn(suspect));
    this.#options.goOn();
  }

  #retryInVain(request: AppendRequest): void {
    // Whichever request is refused next leads: this one, or one with new rows.
    this.#guessing = undefined;
    request.faultSearch?.startOver();
    this.#options.retryInVain(request);
  }

  /** Others were taken since the request was refused: another refusal tells more. */
  #mayGoOn(request: AppendRequest): boolean {
    return this.#takenAt(request) >= (request.refusedAtMs ?? Infinity);
  }

  /** When BigQuery took rows of the same kind last: it stored them, or a trial has shown that it would. */
  #takenAt({ pending: { transcoder }, faultSearch }: AppendRequest): number {
    return Math.max(this.#storedAtMs.get(transcoder) ?? -Infinity, faultSearch?.provedAtMs ?? -Infinity);
  }

  /** The request is larger than BigQuery takes. Returns what may be sent instead. */
  tooLarge(request: AppendRequest): readonly AppendRequest[] {
    if (request.rowCount > 1) return request.halves();
    this.#options.observer.refused("ROW_TOO_LARGE", 1);
    this.#refuse(request, 0, rowTooLarge);
    return [];
  }

  /** A connection ended over a request that is too large: if any, it is the largest. Returns what may be sent instead. */
  largestTooLarge(requests: readonly AppendRequest[]): readonly AppendRequest[] {
    const largest = requests.reduce((a, b) => (b.byteLength > a.byteLength ? b : a));
    return requests.flatMap((request) => (request === largest ? this.tooLarge(request) : [request]));
  }

  #refuse(request: AppendRequest, position: number, refusal: Refusal): void {
    request.refuse(position, refusal, this.#options.refusedHoldsKey);
  }
}
