/** How an append request wants values read that its rows do not have. */
import type { Binding } from "./column-binding.ts";

export type Interpretation = "NULL_VALUE" | "DEFAULT_VALUE";

export interface MissingValues {
  /** For columns without a word of their own; undefined when the connection never said. */
  readonly otherwise: Interpretation | undefined;
  /** By column name as it was sent. */
  readonly byColumn: Readonly<Record<string, Interpretation>>;
}

/**
 * Whether a column without a value gets its default, by position. A column that the writer schema leaves out does so
 * unless the request says NULL_VALUE; one that only the row leaves out does so if the request says DEFAULT_VALUE.
 */
export function defaultTaker({ columns, absent }: Binding, missing: MissingValues): (position: number) => boolean {
  const byName = new Map(Object.entries(missing.byColumn).map(([name, value]) => [name.toLowerCase(), value]));
  const takes = columns.map((column, position) => {
    const unsaid = absent.includes(position) ? "DEFAULT_VALUE" : "NULL_VALUE";
    const interpretation = byName.get(column.name.toLowerCase()) ?? missing.otherwise ?? unsaid;
    return column.defaultValue !== undefined && interpretation === "DEFAULT_VALUE";
  });
  return (position) => takes[position] === true;
}
