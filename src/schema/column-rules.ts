/** What BigQuery allows a column to be called and to be parameterised with (facts/bigquery-write.md §1.4–1.6). */

/** Bounds of the parameters of the two decimal types: of NUMERIC(P,S) and BIGNUMERIC(P,S). */
export const decimalLimits = {
  NUMERIC: { maxScale: 9, maxIntegerDigits: 29 },
  BIGNUMERIC: { maxScale: 38, maxIntegerDigits: 38 },
} as const;

export type DecimalType = keyof typeof decimalLimits;

const maxNameLength = 300;

/** Letters, marks, numbers, connectors, dashes, the space, and the symbols that flexible column names may have. */
const allowedName = /^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd} &%=+:'<>#|]+$/u;

const reservedPrefixes = ["_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER"];

const changeColumns = new Set(["_CHANGE_TYPE", "_CHANGE_SEQUENCE_NUMBER", "_CHANGE_TIMESTAMP"]);

/** Column names are compared without case. Two names are the same when this gives the same text. */
export function foldName(name: string): string {
  return name.toLowerCase();
}

/** Why a column cannot have this name; undefined when it can. */
export function nameFault(name: string): string | undefined {
  if (name === "") return "the name is empty";
  if (codePoints(name) > maxNameLength) return `the name has more than ${maxNameLength} characters`;
  if (!allowedName.test(name)) return "the name has a character that BigQuery does not allow in column names";
  const upper = name.toUpperCase();
  const prefix = reservedPrefixes.find((reserved) => upper.startsWith(reserved));
  if (prefix !== undefined) return `names that begin with ${prefix} are reserved`;
  if (changeColumns.has(upper)) return "the name is reserved for change data capture";
  return undefined;
}

/** Why a decimal column cannot have these parameters; undefined when it can. */
export function decimalFault(
  type: DecimalType,
  precision: number | undefined,
  scale: number | undefined,
): string | undefined {
  if (precision === undefined) return scale === undefined ? undefined : "a scale needs a precision";
  const { maxScale, maxIntegerDigits } = decimalLimits[type];
  const digits = scale ?? 0;
  if (digits > maxScale) return `the scale of ${type} is at most ${maxScale}`;
  if (precision < Math.max(1, digits)) return `the precision must be at least ${Math.max(1, digits)}`;
  if (precision > digits + maxIntegerDigits) {
    return `the precision of ${type} with scale ${digits} is at most ${digits + maxIntegerDigits}`;
  }
  return undefined;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
