/**
 * The search for a row that BigQuery refuses without naming it: the request is halved until one row is left. All
 * parts of a request share the search.
 *
 * A row is blamed only if it was refused, then others of its kind were taken, and then it was refused again. If none is
 * taken, it is not the rows but the table or the service, and nothing may be thrown away: then the search goes down one
 * path only, to a single row. A trial may show what is wrong then (`row-trial.ts`).
 */
export class FaultSearch {
  readonly #sinceMs: number;
  /** Rows of the smallest part that was halved although nothing was taken. */
  #smallest = Infinity;
  #provedAtMs = -Infinity;

  /** @param sinceMs when the first refusal came; monotonic milliseconds */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  /** When a trial has shown that BigQuery takes others, and not a row of this search; monotonic milliseconds. */
  get provedAtMs(): number {
    return this.#provedAtMs;
  }

  /** A trial has shown that BigQuery takes others, and not a row of this search. */
  prove(nowMs: number): void {
    this.#provedAtMs = nowMs;
  }

  /** From now on another path may be gone down. */
  startOver(): void {
    this.#smallest = Infinity;
  }

  /**
   * What to do about a part that was refused.
   *
   * @param rowCount  rows of the part
   * @param beforeMs  when it was refused before, by itself or with others; undefined when it was not
   * @param takenAtMs when BigQuery took rows of the same kind last; monotonic milliseconds
   * @param mayGuess  it may be halved although nothing was taken since the search began
   */
  refused(
    rowCount: number,
    beforeMs: number | undefined,
    takenAtMs: number,
    mayGuess: boolean,
  ): "refuse" | "halve" | "wait" {
    if (rowCount === 1) return beforeMs !== undefined && takenAtMs >= beforeMs ? "refuse" : "wait";
    if (takenAtMs >= this.#sinceMs) return "halve";
    if (!mayGuess || rowCount >= this.#smallest) return "wait";
    this.#smallest = rowCount;
    return "halve";
  }
}
