/** How NUMERIC and BIGNUMERIC columns round what has too many digits: their own mode, or the table's when they were added. */
import type { Column } from "./column.ts";

/** What a client may set; the first leaves it open. */
export const roundingModes = ["ROUNDING_MODE_UNSPECIFIED", "ROUND_HALF_AWAY_FROM_ZERO", "ROUND_HALF_EVEN"] as const;

export type RoundingMode = (typeof roundingModes)[number];

/** The mode that the column was given or has taken over from its table; undefined: the service's own, half away from zero. */
function roundingModeOf({ annotations }: Column): RoundingMode | undefined {
  const mode = annotations["roundingMode"] as RoundingMode | undefined;
  return mode === "ROUNDING_MODE_UNSPECIFIED" ? undefined : mode;
}

/** The column, and those inside it, with this mode where they have none. @param mode undefined leaves them as they are */
export function inheritRounding(column: Column, mode: RoundingMode | undefined): Column {
  if (mode === undefined) return column;
  if (column.type === "STRUCT") {
    return { ...column, fields: column.fields.map((field) => inheritRounding(field, mode)) };
  }
  if (!isDecimal(column) || roundingModeOf(column)) return column;
  return withMode(column, mode);
}

/** A column as it is to be, with the mode of the one that it was unless it says another. */
export function keepRounding(after: Column, before: Column): Column {
  const mode = roundingModeOf(before);
  return !isDecimal(after) || mode === undefined || roundingModeOf(after) ? after : withMode(after, mode);
}

function isDecimal({ type }: Column): boolean {
  return type === "NUMERIC" || type === "BIGNUMERIC";
}

function withMode(column: Column, mode: RoundingMode): Column {
  const annotations = { ...column.annotations, roundingMode: mode };
  return { ...column, annotations, roundHalfEven: mode === "ROUND_HALF_EVEN" };
}
