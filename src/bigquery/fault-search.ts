/**
 * The search for a row that BigQuery refuses without naming it: the request is halved until one row is left. All
 * parts of a request share the search.
 *
 * A row is blamed only if others of its kind have gone in since. If none goes in, it is not the rows but the table
 * or the service, and nothing may be thrown away.
 */
export class FaultSearch {
  readonly #sinceMs: number;
  #fruitless: number;

  /**
   * @param sinceMs  when the first refusal came; monotonic milliseconds
   * @param mayHalve requests are halved although nothing was stored since
   */
  constructor(sinceMs: number, mayHalve: boolean) {
    this.#sinceMs = sinceMs;
    this.#fruitless = mayHalve ? maxFruitlessRefusals : 0;
  }

  /**
   * What to do about a part that was refused.
   *
   * @param rowCount   rows of the part
   * @param storedAtMs when rows of the same kind were stored last; monotonic milliseconds
   */
  refused(rowCount: number, storedAtMs: number): "refuse" | "halve" | "wait" {
    const othersStored = storedAtMs >= this.#sinceMs;
    if (rowCount === 1) return othersStored ? "refuse" : "wait";
    return othersStored || this.#fruitless-- > 0 ? "halve" : "wait";
  }
}

/** More than it takes to come from the largest request down to one row. */
const maxFruitlessRefusals = 20;

/** As long as nothing is stored, one search at most begins within such a time. */
export const searchPauseMs = 5000;
