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
 * Whether a column without a value gets its default, by position. A column that the writer schema leaves out always does:
 * the interpretations are about values that a row lacks, and such a value is NULL unless they say DEFAULT_VALUE.
 */
export function defaultTaker({ columns, absent }: Binding, missing: MissingValues): (position: number) => boolean {
  const byName = new Map(Object.entries(missing.byColumn).map(([name, value]) => [name.toLowerCase(), value]));
  const leftOut = new Set(absent);
  const takes = columns.map(({ name, defaultValue }, position) => {
    const interpretation = byName.get(name.toLowerCase()) ?? missing.otherwise;
    return defaultValue !== undefined && (leftOut.has(position) || interpretation === "DEFAULT_VALUE");
  });
  return (position) => takes[position] === true;
}
