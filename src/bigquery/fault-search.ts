/**
 * The search for a row that BigQuery refuses without naming it: the request is halved until one row is left. All
 * parts of a request share the search.
 *
 * A row is blamed only if others of its kind have gone in since. If none goes in, it is not the rows but the table
 * or the service, and nothing may be thrown away: then the search goes down one path only, to a single row. Where that
 * row keeps others of its ordering key from going in, a trial may show as much (`row-trial.ts`).
 */
export class FaultSearch {
  readonly #sinceMs: number;
  /** Rows of the smallest part that was halved although nothing was stored. */
  #smallest = Infinity;
  #proved = false;

  /** @param sinceMs when the first refusal came; monotonic milliseconds */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  /** Others were stored since the search began, or would have been: so it will find what is wrong. */
  leadsOn(storedAtMs: number): boolean {
    return this.#proved || storedAtMs >= this.#sinceMs;
  }

  /** BigQuery takes other rows of the kind, and not one of these. */
  prove(): void {
    this.#proved = true;
  }

  /** From now on another path may be gone down. */
  startOver(): void {
    this.#smallest = Infinity;
  }

  /**
   * What to do about a part that was refused.
   *
   * @param rowCount   rows of the part
   * @param storedAtMs when rows of the same kind were stored last; monotonic milliseconds
   * @param mayGuess   it may be halved although nothing was stored since
   */
  refused(rowCount: number, storedAtMs: number, mayGuess: boolean): "refuse" | "halve" | "wait" {
    const leadsOn = this.leadsOn(storedAtMs);
    if (rowCount === 1) return leadsOn ? "refuse" : "wait";
    if (leadsOn) return "halve";
    if (!mayGuess || rowCount >= this.#smallest) return "wait";
    this.#smallest = rowCount;
    return "halve";
  }
}
