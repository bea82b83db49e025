/**
 * A committed write stream as Google describes it, in a few lines: rows stand at offsets, an append at the end is taken,
 * one before it exists already, one behind it is out of range. What connections bring may arrive late.
 */
export interface ModelAppend {
  readonly offset: number;
  readonly rows: readonly string[];
}

export class ModelWriteStream {
  readonly rows: string[] = [];
  finalized = false;
  /** The table has another schema than those who write to it think: no row is taken, whatever its offset. */
  outdated = false;
  /** Checks rows before offsets; Google does not say which comes first. */
  readonly #rowsFirst: boolean;

  constructor(rowsFirst: boolean) {
    this.#rowsFirst = rowsFirst;
  }

  /** @param isRefused the table does not take these rows */
  append({ offset, rows }: ModelAppend, isRefused: boolean): "stored" | "exists" | "beyond" | "refused" | "lost" {
    if (this.finalized) return "lost";
    if (this.outdated || (isRefused && this.#rowsFirst)) return "refused";
    if (offset < this.rows.length) return "exists";
    if (offset > this.rows.length) return "beyond";
    if (isRefused) return "refused";
    this.rows.push(...rows);
    return "stored";
  }
}
