/**
 * One write stream of our own: its connection, of which there is one at a time, the offsets of its appends, and its end.
 * What is known of appends stands in `offset-window.ts`; here it meets connections and answers.
 *
 * A stream ends in one of two ways. Retired, it takes no new requests and is over when all that it has are decided. Lost,
 * or with appends in doubt that cannot be sent again, it is sealed: finalized, and its row count tells which are in.
 */
import type { Clock } from "../lib/clock.ts";
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd, OpenCall } from "./append-call.ts";
import { type AppendVerdict, classify, type StreamCallVerdict } from "./append-error.ts";
import type { AppendRequest, Binding } from "./append-request.ts";
import { AppendStream } from "./append-stream.ts";
import {
  type Decided,
  type OffsetAnswer,
  type OffsetOutcome,
  OffsetWindow,
  type SealedState,
} from "./offset-window.ts";
import type { Retirable } from "./request-pool.ts";
import { askRowCount } from "./row-count.ts";
import type { CallResult } from "./write-stream-calls.ts";

export interface CommittedStreamOptions {
  /** Resource name. */
  readonly name: string;
  readonly openCall: OpenCall;
  /** Finalizes the stream and says how many rows it has. Never rejects. */
  readonly finalize: (signal: AbortSignal) => Promise<CallResult<number>>;
  readonly traceId: string;
  /** Requests that it may have. */
  readonly maxInFlight: number;
  readonly clock: Clock;
  readonly random: () => number;
}

export interface CommittedStreamEvents {
  answered(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void;
  /** The connection is gone; the requests go again, where they were if they have a `binding`. */
  ended(end: CallEnd, unanswered: readonly AppendRequest[]): void;
  /** In the table, though no answer said so. */
  landed(request: AppendRequest): void;
  /** Not in the table, through no fault of theirs. */
  displaced(requests: readonly AppendRequest[]): void;
  /** Nobody will know whether these are in the table; they are displaced. */
  unknown(requests: readonly AppendRequest[]): void;
  /** It cannot be found out at present what the stream has taken. */
  failing(verdict: StreamCallVerdict): void;
  /** It has been found out, after that. */
  mended(): void;
  connected(): void;
  /** There may be room, or something to be sent again, or the stream is over. */
  changed(): void;
}

export class CommittedStream implements Binding {
  readonly #options: CommittedStreamOptions;
  readonly #events: CommittedStreamEvents;
  readonly #window = new OffsetWindow<AppendRequest>();
  readonly #createdAtMs: number;
  readonly #closing = new AbortController();
  readonly #handle: Retirable = { retire: () => this.renew() };
  #connection: AppendStream | undefined;
  /** The connection takes no further request, and is left as soon as it has its answers. */
  #stale = false;
  /** Of the requests that it takes: a connection of our own stream keeps its schema. */
  #descriptor: Buffer | undefined;
  /** Answers upon which nothing is decided yet. */
  readonly #answers = new Map<AppendRequest, AppendAnswer>();
  #retired = false;
  #sealing = false;
  #over = false;
  #fruitful = false;
  /** The table was missing: if the stream is missing later, it went with it. */
  #tableMissed = false;

  constructor(options: CommittedStreamOptions, events: CommittedStreamEvents) {
    this.#options = options;
    this.#events = events;
    this.#createdAtMs = options.clock.monotonic();
  }

  get name(): string {
    return this.#options.name;
  }

  /** Milliseconds since its creation. */
  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#createdAtMs;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Requests that are not decided. */
  get held(): number {
    return this.#window.length;
  }

  /** Rows that it has taken, when no request is undecided. */
  get rowCount(): number {
    return this.#window.end;
  }

  /** It takes no new requests, now or later. */
  get leaving(): boolean {
    return this.#retired || this.#sealing;
  }

  /** Nothing is undecided, and nothing more comes. */
  get over(): boolean {
    return this.#over;
  }

  /** It was or is sealed. */
  get lost(): boolean {
    return this.#sealing;
  }

  /** Rows were stored in it. */
  get fruitful(): boolean {
    return this.#fruitful;
  }

  /** A request with this descriptor may be sent on it, now or later. */
  fits(descriptor: Buffer): boolean {
    return !this.leaving && (this.#descriptor?.equals(descriptor) ?? true);
  }

  /** It may take another request now. */
  get hasRoom(): boolean {
    return !this.leaving && !this.#stale && this.#window.open && this.#window.length < this.#options.maxInFlight;
  }

  /** The request that has to be sent again before anything else. */
  get next(): AppendRequest | undefined {
    return this.#stale || this.#sealing ? undefined : this.#window.next;
  }

  /** Requests that wait here to be sent again. */
  waiting(): Iterable<AppendRequest> {
    return this.#window.waiting();
  }

  /** Sends a request that fits, when there is room, or the one that `next` gave. */
  send(request: AppendRequest): void {
    this.#descriptor ??= request.pending.transcoder.descriptor.bytes;
    request.offset = request.binding ? this.#window.sendNext() : this.#window.add(request, request.rowCount);
    this.#connection ??= this.#connect();
    this.#connection.send(request);
  }

  giveBack(request: AppendRequest): void {
    this.#window.giveBack(request);
  }

  /** What is sent from now on goes over a new connection. */
  renew(): void {
    this.#stale = this.#connection !== undefined;
    this.#leaveStale();
  }

  /** It takes no new requests. */
  retire(): void {
    this.#retired = true;
    this.#endIfDone();
  }

  /** Nothing is sent any more: finds out what it has taken. */
  conclude(): void {
    if (this.#window.length > 0) this.#seal();
  }

  /** Cuts the connection; nothing is reported any more. Returns how many rows may or may not be in the table. */
  abort(): number {
    this.#closing.abort();
    this.#disconnect();
    this.#over = true;
    return rowsOf(this.#window.sealed("unknown").filter(({ outcome }) => outcome === "unknown"));
  }

  #connect(): AppendStream {
    const { name, openCall, traceId, clock } = this.#options;
    const connection = new AppendStream({
      openCall,
      writeStream: name,
      traceId,
      clock,
      answered: (_, request, answer) => this.#answered(request, answer),
      ended: (_, end) => this.#ended(end),
    });
    this.#events.connected();
    return connection;
  }

  #disconnect(): void {
    this.#connection?.abort();
    this.#connection = undefined;
    this.#stale = false;
    this.#events.connected();
  }

  /** Without a request on its way nothing is lost by a cut. */
  #leaveStale(): void {
    if (this.#stale && this.#connection?.inFlight === 0) this.#disconnect();
  }

  #answered(request: AppendRequest, answer: AppendAnswer): void {
    this.#answers.set(request, answer);
    const stored = answer.code === 0 && answer.rowErrors.length === 0;
    const decided = this.#window.answered(stored ? "stored" : this.#offsetAnswer(answer));
    this.#leaveStale();
    this.#report(decided);
    if (this.#window.mustSeal) this.#seal();
    this.#endIfDone();
    if (this.#over) this.#events.changed();
  }

  #offsetAnswer(answer: AppendAnswer): OffsetAnswer {
    const verdict = classify({ ...answer, scope: "request", rowErrors: answer.rowErrors.length, hasOffset: true });
    this.#noteTable(verdict);
    return offsetAnswers[verdict.kind];
  }

  #ended(end: CallEnd): void {
    this.#connection = undefined;
    this.#stale = false;
    this.#events.connected();
    const verdict = classify({ ...end, scope: "stream", rowErrors: 0, hasOffset: true });
    this.#noteTable(verdict);
    if (this.#window.length === 0) this.#events.ended(end, []);
    const decided = this.#window.interrupted();
    if (endsNextToo(verdict)) this.#seal(end);
    else if (this.#window.mustSeal) this.#seal();
    // Those in doubt are sent again; or they wait for the seal.
    this.#report(this.#sealing ? decided.filter(({ outcome }) => !stays(outcome)) : decided, end);
    this.#endIfDone();
    this.#events.changed();
  }

  #noteTable(verdict: AppendVerdict): void {
    if (verdict.kind === "setup" && verdict.state === "NOT_FOUND") this.#tableMissed = true;
  }

  /** @param end of the connection, over which requests have no answer */
  #report(decided: readonly Decided<AppendRequest>[], end?: CallEnd): void {
    const events = this.#events;
    const free = this.#letGo(decided);
    if (free.length > 0) events.displaced(free);
    const unanswered: AppendRequest[] = [];
    for (const { append, outcome } of decided) {
      if (free.includes(append)) continue;
      const answer = this.#answers.get(append);
      this.#answers.delete(append);
      append.binding = stays(outcome) ? this : undefined;
      if (outcome === "kept") continue;
      if (outcome === "stored" || outcome === "found") this.#fruitful = true;
      if (outcome === "found") events.landed(append);
      else if (answer) events.answered(append, answer, this.#handle);
      else unanswered.push(append);
    }
    if (end && unanswered.length > 0) events.ended(end, unanswered);
  }

  /** Requests that are not in the table, or of which nobody knows. */
  #letGo(decided: readonly Decided<AppendRequest>[]): AppendRequest[] {
    const unknown = decided.filter(({ outcome }) => outcome === "unknown").map(({ append }) => append);
    if (unknown.length > 0) this.#events.unknown(unknown);
    const free = decided.filter(({ outcome }) => outcome === "displaced" || outcome === "unknown");
    for (const { append } of free) {
      append.binding = undefined;
      this.#answers.delete(append);
    }
    return free.map(({ append }) => append);
  }

  /** @param end with which the server ended the connection over these requests, and would end the next one */
  #seal(end?: CallEnd): void {
    if (this.#sealing) return;
    this.#sealing = true;
    this.#disconnect();
    void this.#askAndEnd(end);
  }

  async #askAndEnd(end: CallEnd | undefined): Promise<void> {
    const { signal } = this.#closing;
    let failed = false;
    const failing = (verdict: StreamCallVerdict): void => {
      failed = true;
      this.#noteTable(verdict);
      this.#events.failing(verdict);
    };
    const state = await askRowCount({ ...this.#options, failing }, signal);
    if (signal.aborted) return;
    this.#over = true;
    if (failed) this.#events.mended();
    this.#sealed(state === "unknown" && this.#tableMissed ? "gone" : state, end);
    this.#events.changed();
  }

  #sealed(state: SealedState, end: CallEnd | undefined): void {
    const decided = this.#window.sealed(state);
    if (!end) {
      this.#report(decided);
      return;
    }
    this.#report(decided.filter(({ outcome }) => outcome === "found"));
    const free = this.#letGo(decided);
    if (free.length > 0) this.#events.ended(end, free);
  }

  #endIfDone(): void {
    if (!this.#retired || this.#sealing || this.#over || this.#window.length > 0) return;
    this.#over = true;
    this.#disconnect();
  }
}

/** What the answer to an append says of its offset. */
const offsetAnswers: Readonly<Record<AppendVerdict["kind"], OffsetAnswer>> = {
  stored: "exists",
  displaced: "beyond",
  streamLost: "lost",
  rejectRows: "refused",
  isolate: "refused",
  split: "refused",
  refresh: "refused",
  retry: "unsure",
  reopen: "unsure",
  quota: "unsure",
  setup: "unsure",
};

/** The append has to be sent again where it was. */
function stays(outcome: OffsetOutcome): boolean {
  return outcome === "bound" || outcome === "kept";
}

/** The same requests again would end the next connection as well. */
function endsNextToo({ kind }: AppendVerdict): boolean {
  return kind === "split" || kind === "refresh" || kind === "streamLost";
}

function rowsOf(decided: readonly Decided<AppendRequest>[]): number {
  return decided.reduce((rows, { append }) => rows + append.rowCount, 0);
}
