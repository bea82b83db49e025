/** The options that a configuration gives to single columns, checked against the columns that there are. */
import { foldName } from "../schema/column-rules.ts";
import type { Column, ColumnType } from "../schema/table-schema.ts";
import type { ColumnOptions } from "./mapping-plan.ts";

const noOptions: ColumnOptions = {};

const typesWithFormat: ReadonlySet<ColumnType> = new Set(["DATE", "TIME", "DATETIME", "TIMESTAMP"]);

export class ColumnOptionsByPath {
  readonly #options = new Map<string, { readonly spelled: string; readonly options: ColumnOptions }>();
  readonly #taken = new Set<string>();

  /** @param columns by path, `a.b` when nested */
  constructor(columns: Readonly<Record<string, ColumnOptions>>) {
    for (const [spelled, options] of Object.entries(columns))
      this.#options.set(foldName(spelled), { spelled, options });
  }

  /** The options of a column. Those that do not fit its type are added to `faults`. */
  take(path: string, column: Column, faults: string[]): ColumnOptions {
    const key = foldName(path);
    const found = this.#options.get(key);
    if (!found) return noOptions;
    this.#taken.add(key);
    for (const misfit of misfits(column, found.options)) {
      faults.push(`bigquery.columns.${found.spelled}: ${misfit}, not to ${column.type}`);
    }
    return found.options;
  }

  /** A fault for every path that no column has. */
  unused(): readonly string[] {
    return [...this.#options]
      .filter(([key]) => !this.#taken.has(key))
      .map(([, { spelled }]) => `bigquery.columns.${spelled}: the table has no such column`);
  }
}

function misfits(column: Column, options: ColumnOptions): readonly string[] {
  // The options of a RANGE are those of its bounds.
  const type = column.type === "RANGE" ? column.rangeElementType! : column.type;
  return [
    ...(options.timestampUnit !== undefined && type !== "TIMESTAMP" ? ["timestampUnit belongs to TIMESTAMP"] : []),
    ...(options.format !== undefined && !typesWithFormat.has(type)
      ? ["format belongs to DATE, TIME, DATETIME and TIMESTAMP"]
      : []),
    ...(options.jsonNull === "keep" && type !== "JSON" ? ["jsonNull belongs to JSON"] : []),
  ];
}
