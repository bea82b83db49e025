/**
 * The requests of one write stream of our own that are not decided: puts them in places, makes of answers and of ends of
 * connections what `offset-window.ts` can judge by, and passes on what it decides.
 */
import type { AppendAnswer } from "./append-answer.ts";
import type { CallEnd } from "./append-call.ts";
import { type AppendVerdict, classify } from "./append-error.ts";
import type { AppendRequest, Binding } from "./append-request.ts";
import {
  type Decided,
  type OffsetAnswer,
  type OffsetOutcome,
  OffsetWindow,
  type SealedState,
} from "./offset-window.ts";
import type { Retirable } from "./request-pool.ts";

export interface OffsetLedgerEvents {
  /** @param connection whoever has the request may want a new one */
  answered(request: AppendRequest, answer: AppendAnswer, connection: Retirable): void;
  /** The connection is gone; the requests go again, where they were if they have a `binding`. */
  ended(end: CallEnd, unanswered: readonly AppendRequest[]): void;
  /** In the table, though no answer said so. */
  landed(request: AppendRequest): void;
  /** Not in the table, through no fault of theirs. */
  displaced(requests: readonly AppendRequest[]): void;
  /** Nobody will know whether these are in the table; they are displaced. */
  unknown(requests: readonly AppendRequest[]): void;
}

export class OffsetLedger implements Binding {
  readonly #events: OffsetLedgerEvents;
  readonly #connection: Retirable;
  readonly #window = new OffsetWindow<AppendRequest>();
  /** Answers upon which nothing is decided yet. */
  readonly #answers = new Map<AppendRequest, AppendAnswer>();
  /** The server ended the connection over requests that would end the next one as well. */
  #fatalEnd: CallEnd | undefined;
  /** The table was missing: if the stream is missing later, it went with it. */
  #tableMissed = false;
  #fruitful = false;

  constructor(events: OffsetLedgerEvents, connection: Retirable) {
    this.#events = events;
    this.#connection = connection;
  }

  /** Requests that are not decided. */
  get length(): number {
    return this.#window.length;
  }

  /** Rows that the stream has taken, when no request is undecided. */
  get rowCount(): number {
    return this.#window.end;
  }

  /** Another request may be added. */
  get open(): boolean {
    return this.#window.open;
  }

  /** Nothing more can be decided until it is known what the stream holds. */
  get mustSeal(): boolean {
    return this.#window.mustSeal || this.#fatalEnd !== undefined;
  }

  /** Rows were stored. */
  get fruitful(): boolean {
    return this.#fruitful;
  }

  /** The request that has to be sent again before anything else. */
  get next(): AppendRequest | undefined {
    return this.#window.next;
  }

  /** Requests that wait here to be sent again. */
  waiting(): Iterable<AppendRequest> {
    return this.#window.waiting();
  }

  giveBack(request: AppendRequest): void {
    this.#window.giveBack(request);
  }

  /** A request is about to be sent: another one, or `next`. */
  place(request: AppendRequest): void {
    request.offset = request.binding ? this.#window.sendNext() : this.#window.add(request, request.rowCount);
  }

  /** The request is the first of those sent that has no answer. */
  answered(request: AppendRequest, answer: AppendAnswer): void {
    this.#answers.set(request, answer);
    const stored = answer.code === 0 && answer.rowErrors.length === 0;
    this.#report(this.#window.answered(stored ? "stored" : this.#meaningOf(answer)));
  }

  #meaningOf(answer: AppendAnswer): OffsetAnswer {
    const verdict = classify({ ...answer, scope: "request", rowErrors: answer.rowErrors.length, hasOffset: true });
    this.note(verdict);
    return offsetAnswers[verdict.kind];
  }

  /** The connection has ended. */
  interrupted(end: CallEnd): void {
    const verdict = classify({ ...end, scope: "stream", rowErrors: 0, hasOffset: true });
    this.note(verdict);
    if (endsNextToo(verdict)) this.#fatalEnd = end;
    if (this.#window.length === 0) this.#events.ended(end, []);
    const decided = this.#window.interrupted();
    // Those in doubt are sent again; or they wait for the seal.
    this.#report(this.mustSeal ? decided.filter(({ outcome }) => !stays(outcome)) : decided, end);
  }

  /** Something was heard of the table. */
  note(verdict: AppendVerdict): void {
    if (verdict.kind === "setup" && verdict.state === "NOT_FOUND") this.#tableMissed = true;
  }

  /** The stream takes nothing more, and this is what is known of it. */
  sealed(state: SealedState): void {
    const decided = this.#window.sealed(state === "unknown" && this.#tableMissed ? "gone" : state);
    if (!this.#fatalEnd) {
      this.#report(decided);
      return;
    }
    // Whoever has to do with the end of the connection gets those that have brought it about.
    this.#report(decided.filter(({ outcome }) => outcome === "found"));
    const free = this.#letGo(decided);
    if (free.length > 0) this.#events.ended(this.#fatalEnd, free);
  }

  /** Forgets all requests. Returns how many rows may or may not be in the table. */
  abandon(): number {
    const unknown = this.#window.sealed("unknown").filter(({ outcome }) => outcome === "unknown");
    return unknown.reduce((rows, { append }) => rows + append.rowCount, 0);
  }

  /** @param end of the connection, over which requests have no answer */
  #report(decided: readonly Decided<AppendRequest>[], end?: CallEnd): void {
    const events = this.#events;
    const free = this.#letGo(decided);
    if (free.length > 0) events.displaced(free);
    const unanswered: AppendRequest[] = [];
    for (const { append, outcome } of decided) {
      if (isFree(outcome)) continue;
      const answer = this.#answers.get(append);
      this.#answers.delete(append);
      append.binding = stays(outcome) ? this : undefined;
      if (outcome === "kept") continue;
      if (outcome === "stored" || outcome === "found") this.#fruitful = true;
      if (outcome === "found") events.landed(append);
      else if (answer) events.answered(append, answer, this.#connection);
      else unanswered.push(append);
    }
    if (end && unanswered.length > 0) events.ended(end, unanswered);
  }

  /** Lets requests go that are not in the table, or of which nobody will know. */
  #letGo(decided: readonly Decided<AppendRequest>[]): AppendRequest[] {
    const unknown = decided.filter(({ outcome }) => outcome === "unknown").map(({ append }) => append);
    if (unknown.length > 0) this.#events.unknown(unknown);
    const free = decided.filter(({ outcome }) => isFree(outcome)).map(({ append }) => append);
    for (const request of free) {
      request.binding = undefined;
      this.#answers.delete(request);
    }
    return free;
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

/** The request has to be sent again where it was. */
function stays(outcome: OffsetOutcome): boolean {
  return outcome === "bound" || outcome === "kept";
}

/** The request may go anywhere. */
function isFree(outcome: OffsetOutcome): boolean {
  return outcome === "displaced" || outcome === "unknown";
}

/** The same requests again would end the next connection as well. */
function endsNextToo({ kind }: AppendVerdict): boolean {
  return kind === "split" || kind === "refresh" || kind === "streamLost";
}
