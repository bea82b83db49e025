/**
 * Appends requests until every row has its fate: matches each failure with what is to be done about it, and asks
 * the destination for what only it can do (look at the table again, transcode again).
 */
import type { Refusal } from "../errors.ts";
import type { MemoryShare } from "../lib/memory-share.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd } from "./append-call.ts";
import { classify } from "./append-error.ts";
import type { RetryReason } from "./append-observer.ts";
import type { AppendRequest } from "./append-request.ts";
import { DelayedRetries } from "./delayed-retries.ts";
import * as holds from "./holds.ts";
import { Parking } from "./parking.ts";
import { RefusedRows } from "./refused-rows.ts";
import type { Retirable } from "./request-pool.ts";
import type { RowTrial } from "./row-trial.ts";
import { SendQueue, type SendQueueOptions } from "./send-queue.ts";

export interface AppenderOptions extends SendQueueOptions {
  readonly memory: MemoryShare;
  readonly trial: RowTrial;
  /** There may be room for another request, or another state to show. */
  progressed(): void;
  /**
   * The table has another schema than a connection began with; or it may have, and nobody will tell: of changes the
   * service tells only connections that are older.
   */
  schemaUpdated(): void;
  /** No connection is left, though nothing has failed; `schemaUpdated` was called just before. */
  disconnected(): void;
  /** Looks at the table again; resolves to true when these rows have to be transcoded again. Never rejects. */
  outdated(transcoder: Transcoder): Promise<boolean>;
  /** Takes over the messages of a request that will not be sent any more. */
  transcodeAgain(request: AppendRequest): void;
  /** When a row with an ordering key is refused, what comes behind it in its key is given back. */
  readonly refusedHoldsKey: boolean;
  /** The refusal of a row about which BigQuery said this. */
  rowRejected(serverMessage: string): Refusal;
}

/** With the rows of so many requests parked no new ones are taken. */
const maxParkedBatches = 8;

export class Appender {
  readonly #options: AppenderOptions;
  readonly #queue: SendQueue;
  readonly #parking: Parking;
  readonly #refused: RefusedRows;
  readonly #retries: DelayedRetries;

  constructor(options: AppenderOptions) {
    this.#options = options;
    this.#parking = new Parking(options.clock);
    this.#refused = new RefusedRows({
      ...options,
      parking: this.#parking,
      rowRejected: (serverMessage) => options.rowRejected(serverMessage),
      again: (requests, reason) => this.#putBack(requests, reason),
      unlessOutdated: (request, goOn) => void this.#unlessOutdated(request, goOn),
      retryInVain: (request) => this.#retryInVain(request),
      goOn: () => this.#goOn(),
    });
    this.#retries = new DelayedRetries({
      ...options,
      parking: this.#parking,
      again: (request) => {
        this.#queue.putBack([request]);
        this.#goOn();
      },
    });
    this.#queue = new SendQueue(options, {
      answered: (request, answer, connection) => this.#answered(request, answer, connection),
      landed: (request) => this.#landed(request),
      displaced: (requests) => this.#displaced(requests),
      broken: (end, unanswered) => this.#broken(end, unanswered),
      closed: () => {
        options.schemaUpdated();
        if (this.#queue.connections === 0) options.disconnected();
      },
      ready: () => this.#goOn(),
    });
  }

  /** Another request would be sent soon. */
  get room(): boolean {
    const { memory } = this.#options;
    return this.#queue.empty && this.#parking.batches < maxParkedBatches && (memory.hasRoom || this.#atRest);
  }

  /** No request is under way: the next one may go whatever it takes. */
  get #atRest(): boolean {
    return this.#queue.idle && this.#parking.batches === 0;
  }

  /** What keeps rows from being stored; undefined when nothing does. */
  get trouble(): holds.Trouble | undefined {
    if (this.#queue.hold) return this.#queue.hold;
    if (this.#atRest) return undefined;
    return this.#retries.trouble ?? (this.#refused.lasting ? holds.unnamedRefusals : undefined);
  }

  submit(request: AppendRequest): void {
    this.#queue.push(request);
  }

  /** Requests whose rows have no fate yet. */
  *unresolved(): Iterable<AppendRequest> {
    yield* this.#queue.requests();
    yield* this.#parking.requests();
  }

  /** Nothing more is sent. What became of requests without an answer is found out, as far as it can be. */
  conclude(): void {
    this.#queue.conclude();
  }

  /** Cuts all connections. Nothing more is sent, and no fate becomes known any more. */
  close(): Promise<void> {
    this.#refused.close();
    this.#parking.clear();
    return this.#queue.close();
  }

  #goOn(): void {
    this.#queue.dispatch();
    this.#options.progressed();
  }

  #answered(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void {
    if (answer.schemaUpdated) this.#options.schemaUpdated();
    if (answer.code === 0 && answer.rowErrors.length === 0) this.#stored(request);
    else this.#failed(request, answer, connection);
    // No effect when the failure has just shut the gate.
    this.#queue.passed(request);
    this.#goOn();
  }

  #landed(request: AppendRequest): void {
    this.#parking.leave(request);
    this.#stored(request);
    this.#queue.passed(request);
    this.#goOn();
  }

  /** Whoever tells of it goes on by himself: with others they may be behind. */
  #displaced(requests: readonly AppendRequest[]): void {
    for (const request of requests) this.#queue.passed(request);
    // What waits for something goes on when it has that.
    const idle = requests.filter((request) => !this.#parking.has(request));
    this.#putBack(idle, "offset");
  }

  #stored(request: AppendRequest): void {
    const now = this.#options.clock.monotonic();
    this.#refused.stored(request);
    this.#retries.stored();
    this.#options.observer.appended(request.rowCount, request.byteLength, (now - request.sentAtMs) / 1000);
    request.stored();
  }

  #failed(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void {
    const hasOffset = request.offset !== undefined;
    const verdict = classify({ ...answer, scope: "request", rowErrors: answer.rowErrors.length, hasOffset });
    switch (verdict.kind) {
      case "stored":
        this.#stored(request);
        break;
      case "rejectRows":
      case "isolate":
        this.#refused.refused(request, answer);
        break;
      case "split":
        this.#putBack(this.#refused.tooLarge(request), "split");
        break;
      case "refresh":
        void this.#unlessOutdated(request, () => this.#retries.add(request, holds.schemaMismatch, "schema"));
        break;
      case "reopen":
        connection.retire();
        this.#retries.add(request, holds.unavailable, "unavailable");
        break;
      case "retry":
        this.#retries.add(request, holds.unavailable, "unavailable");
        break;
      case "quota":
      case "setup":
        this.#queue.shut(verdict, [request]);
        this.#putBack([request], verdict.kind);
        break;
      // Of these the streams themselves take care.
      case "displaced":
      case "streamLost":
        this.#putBack([request], "offset");
        break;
    }
  }

  #broken(end: CallEnd, unanswered: readonly AppendRequest[]): void {
    const hasOffset = unanswered.some(({ offset }) => offset !== undefined);
    const verdict = classify({ ...end, scope: "stream", rowErrors: 0, hasOffset });
    switch (verdict.kind) {
      case "split":
        this.#putBack(this.#refused.largestTooLarge(unanswered), "split");
        break;
      case "refresh":
        this.#queue.shut(verdict, unanswered);
        for (const request of unanswered) {
          void this.#unlessOutdated(request, () => this.#putBack([request], "schema"));
        }
        break;
      case "reopen":
        if (!verdict.idle) this.#queue.shut(verdict, unanswered);
        this.#putBack(unanswered, "unavailable");
        this.#options.schemaUpdated();
        break;
      case "quota":
      case "setup":
        this.#queue.shut(verdict, unanswered);
        this.#putBack(unanswered, verdict.kind);
        break;
      case "streamLost":
        this.#putBack(unanswered, "offset");
        break;
      // About single requests: `classify` says none of these of a stream.
      case "stored":
      case "displaced":
      case "rejectRows":
      case "isolate":
      case "retry":
        this.#putBack(unanswered, "unavailable");
        break;
    }
    // No effect when the failure has just shut the gate.
    for (const request of unanswered) this.#queue.passed(request);
    this.#goOn();
  }

  /** Has the table looked at; then the rows are transcoded again, or things go on as given. */
  async #unlessOutdated(request: AppendRequest, goOn: () => void): Promise<void> {
    this.#parking.keep(request);
    const outdated = await this.#options.outdated(request.pending.transcoder);
    if (!this.#parking.leave(request)) return;
    if (outdated) this.#options.transcodeAgain(request);
    else goOn();
    this.#goOn();
  }

  /** New rows have to come in: one of them may show what is wrong. So where room is short, rows that wait become messages again. */
  #retryInVain(request: AppendRequest): void {
    const roomIsShort = this.#parking.batches + 1 >= maxParkedBatches || !this.#options.memory.hasRoom;
    if (roomIsShort) this.#options.transcodeAgain(request);
    else this.#queue.putBack([request]);
    this.#goOn();
  }

  #putBack(requests: readonly AppendRequest[], reason: RetryReason): void {
    if (requests.length > 0) this.#options.observer.retried(reason, requests.length);
    this.#queue.putBack(requests);
  }
}
