/**
 * The appends of one write stream with offsets that have no fate yet: which rows stand at which offset, and what answers
 * and silences prove of them. Pure; whoever has the connection tells it what came.
 *
 * The rule from which the rest follows: an offset that was sent with some rows is given to no others before it is
 * certain that those are not in the table and cannot get there any more. So an append whose answer was lost may
 * be sent again with the same rows at the same offset as often as need be: BigQuery takes it once. Where the
 * offset cannot be kept, because an append before it was refused, and nobody knows whether a lost one is still under
 * way, the stream has to be sealed: finalized, after which it takes nothing more and its row count tells all.
 */

/** What an answer says of an append at an offset. */
export type OffsetAnswer =
  /** The rows are in. */
  | "stored"
  /** There are rows at this offset already. */
  | "exists"
  /** The stream does not reach to this offset. */
  | "beyond"
  /** The rows, or their schema, are not taken. */
  | "refused"
  /** Failed, and it may have taken effect all the same. */
  | "unsure"
  /** The stream takes nothing any more. */
  | "lost";

/** What is certain of an append. All but those that are `bound` or `kept` have left the window. */
export type OffsetOutcome =
  /** An answer said that the rows are in. */
  | "stored"
  /** Sent before without an answer, and in already. */
  | "found"
  /** Not in, and its answer says why. */
  | "refused"
  /** Not in, because of others before it: it may go anywhere. */
  | "displaced"
  /** Nobody knows. It has to be sent again where it was, once it is given back. */
  | "bound"
  /** Behind one that is bound: it will be sent again where it was, after that. */
  | "kept"
  /** Nobody will ever know. */
  | "unknown";

export interface Decided<Append> {
  readonly append: Append;
  readonly outcome: OffsetOutcome;
}

/** What the end of a stream tells of the appends that were left: its row count; it went with its table; nothing. */
export type SealedState = number | "gone" | "unknown";

interface Entry<Append> {
  readonly append: Append;
  readonly offset: number;
  readonly rows: number;
  /** It was sent, and how that ended is not known. */
  unsure: boolean;
  /** To its last sending, as long as nothing was decided upon it. */
  answer: OffsetAnswer | undefined;
  /** Somebody else has it, and will give it back. */
  away: boolean;
}

export class OffsetWindow<Append> {
  /** In the order of their offsets, without gaps: those with an answer, those that wait for one, those to be sent again. */
  readonly #entries: Entry<Append>[] = [];
  #end = 0;
  #answered = 0;
  #awaited = 0;
  #mustSeal = false;
  /** The server has contradicted itself: what it says of offsets proves nothing. */
  #contradicted = false;

  /** Where the next rows will stand. */
  get end(): number {
    return this.#end;
  }

  /** Appends without a fate. */
  get length(): number {
    return this.#entries.length;
  }

  /** Further rows may be added: nothing is in doubt, as far as anybody knows. */
  get open(): boolean {
    return !this.#mustSeal && this.#awaited === this.#entries.length;
  }

  /** Nothing can be decided, and nothing may be sent, until it is known what the stream holds. */
  get mustSeal(): boolean {
    return this.#mustSeal;
  }

  /** The append that has to be sent again before anything else; undefined: none, or not yet. */
  get next(): Append | undefined {
    if (this.#mustSeal || this.#answered > 0) return undefined;
    const entry = this.#entries[this.#awaited];
    return entry?.away === false ? entry.append : undefined;
  }

  /** Those that are to be sent again, and are in nobody else's hands. */
  *waiting(): Iterable<Append> {
    for (const { append, away } of this.#entries.slice(this.#answered + this.#awaited)) if (!away) yield append;
  }

  /** Adds an append that is sent now. Only while the window is open. Returns its offset. */
  add(append: Append, rows: number): number {
    const offset = this.#end;
    this.#entries.push({ append, offset, rows, unsure: false, answer: undefined, away: false });
    this.#awaited++;
    this.#end += rows;
    return offset;
  }

  /** The append that `next` gave is sent now. Returns its offset. */
  sendNext(): number {
    return this.#entries[this.#awaited++]!.offset;
  }

  /** Somebody who had a bound append is done with it: it may be sent again. */
  giveBack(append: Append): void {
    const entry = this.#entries.find((other) => other.append === append);
    if (entry) entry.away = false;
  }

  /** An answer came: to the first append that waits for one. */
  answered(answer: OffsetAnswer): Decided<Append>[] {
    const entry = this.#entries[this.#answered]!;
    this.#awaited--;
    const stored = answer === "stored" || (answer === "exists" && entry.unsure);
    if (!stored) {
      entry.answer = answer;
      this.#answered++;
      return this.#decide();
    }
    const decided = this.#allIn(this.#entries.splice(0, this.#answered));
    decided.push({ append: entry.append, outcome: answer === "stored" ? "stored" : "found" });
    this.#entries.shift();
    return [...decided, ...this.#decide()];
  }

  /** The connection has ended: nobody knows what became of appends without an answer. */
  interrupted(): Decided<Append>[] {
    const awaited = this.#entries.slice(this.#answered, this.#answered + this.#awaited);
    for (const entry of awaited) entry.answer = "unsure";
    this.#answered += this.#awaited;
    this.#awaited = 0;
    return this.#decide();
  }

  /** The stream takes nothing more, and this is what is known of it. Empties the window. */
  sealed(state: SealedState): Decided<Append>[] {
    const entries = this.#entries.splice(0);
    const start = entries[0]?.offset ?? this.#end;
    this.#answered = 0;
    this.#awaited = 0;
    this.#mustSeal = true;
    // A stream with fewer rows than were confirmed is none whose count means anything.
    const known = this.#contradicted || (typeof state === "number" && state < start) ? "unknown" : state;
    return entries.map((entry) => ({ append: entry.append, outcome: outcomeIn(known, entry) }));
  }

  /** An append behind these was stored, and so were they: its offset says so. */
  #allIn(before: readonly Entry<Append>[]): Decided<Append>[] {
    this.#answered = 0;
    if (!before.every(isInDoubt)) this.#contradict();
    return before.map((entry) => ({ append: entry.append, outcome: outcomeBefore(entry) }));
  }

  #contradict(): void {
    this.#contradicted = true;
    this.#mustSeal = true;
  }

  /** Once nothing is awaited that could tell more. */
  #decide(): Decided<Append>[] {
    if (this.#awaited > 0 || this.#answered === 0 || this.#mustSeal) return [];
    const first = this.#entries[0]!;
    if (first.answer === "exists") this.#contradict();
    const lost = this.#entries.some(({ answer }) => answer === "lost");
    if (lost || first.answer === "beyond" || first.answer === "exists") this.#mustSeal = true;
    else if (first.answer === "refused") return this.#afterRefusal();
    else return this.#afterDoubt();
    return [];
  }

  /** What stands behind a refused append has to move up, which only rows may that are certainly nowhere. */
  #afterRefusal(): Decided<Append>[] {
    if (this.#entries.every(isCertain)) return this.#release(0);
    this.#mustSeal = true;
    return [];
  }

  /** Everything up to the last append in doubt keeps its place; what is behind it is free. */
  #afterDoubt(): Decided<Append>[] {
    const keep = this.#entries.findLastIndex((entry) => !isCertain(entry)) + 1;
    const free = this.#release(keep);
    const stay: Decided<Append>[] = [];
    for (const entry of this.#entries.slice(0, this.#answered)) {
      const { append, answer } = entry;
      const bound = answer === "unsure";
      if (bound) entry.unsure = true;
      entry.away = bound;
      entry.answer = undefined;
      stay.push({ append, outcome: bound ? "bound" : "kept" });
    }
    this.#answered = 0;
    return [...stay, ...free];
  }

  /** Lets appends go that are certainly not in. */
  #release(from: number): Decided<Append>[] {
    const free = this.#entries.splice(from);
    this.#answered -= free.length;
    if (free.length > 0) this.#end = free[0]!.offset;
    return free.map(({ append, answer }) => ({ append, outcome: answer === "refused" ? "refused" : "displaced" }));
  }
}

/** It is not in: its only sending, or each one, was answered so. */
function isCertain({ unsure, answer }: Entry<unknown>): boolean {
  return !unsure && (answer === "refused" || answer === "beyond");
}

/** Of an append in front of one that was stored. Whatever else its answer was, the two do not go together. */
function outcomeBefore(entry: Entry<unknown>): OffsetOutcome {
  if (isInDoubt(entry)) return "found";
  return isCertain(entry) ? "displaced" : "unknown";
}

/** One of its sendings may have taken effect. */
function isInDoubt({ unsure, answer }: Entry<unknown>): boolean {
  return unsure || answer === "unsure";
}

function outcomeIn(state: SealedState, entry: Entry<unknown>): OffsetOutcome {
  if (isCertain(entry) || state === "gone") return "displaced";
  if (state === "unknown") return "unknown";
  if (entry.offset + entry.rows <= state) return "found";
  return entry.offset >= state ? "displaced" : "unknown";
}
