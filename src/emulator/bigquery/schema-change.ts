/** Changes of a table's schema through REST: columns may be added at the end and REQUIRED may be relaxed, nothing else. */
import { type ApiError, invalid } from "./api-error.ts";
import { type Column, sameName } from "./column.ts";
import { inheritRounding, keepRounding, type RoundingMode } from "./rounding-mode.ts";

/**
 * The columns after the change: those of the table in their order, then the new ones.
 *
 * @param table name of the table, for the message
 * @param roundingMode of the table, for new columns
 * @throws ApiError 400
 */
export function changedColumns(
  table: string,
  before: readonly Column[],
  wanted: readonly Column[],
  roundingMode?: RoundingMode,
): readonly Column[] {
  return change(before, wanted, "", {
    fault: (reason) => invalid(`Provided Schema does not match Table ${table}. ${reason}`),
    roundingMode,
  });
}

interface Context {
  readonly fault: (reason: string) => ApiError;
  readonly roundingMode: RoundingMode | undefined;
}

function change(
  before: readonly Column[],
  wanted: readonly Column[],
  prefix: string,
  context: Context,
): readonly Column[] {
  const { fault, roundingMode } = context;
  const kept = before.map((column) => {
    const after = wanted.find(({ name }) => sameName(name, column.name));
    if (!after) throw fault(`Field ${prefix}${column.name} is missing in new schema`);
    return changed(column, after, prefix, context);
  });
  const added = wanted.filter(({ name }) => !before.some((column) => sameName(column.name, name)));
  for (const column of added) {
    if (column.mode === "REQUIRED") {
      throw fault(`Cannot add required fields to an existing schema. (field: ${prefix}${column.name})`);
    }
  }
  return [...kept, ...added.map((column) => inheritRounding(column, roundingMode))];
}

function changed(before: Column, after: Column, prefix: string, context: Context): Column {
  const { fault } = context;
  const path = prefix + before.name;
  if (before.type !== after.type) throw fault(`Field ${path} has changed type from ${before.type} to ${after.type}`);
  const isRelaxed = before.mode === "REQUIRED" && after.mode === "NULLABLE";
  if (before.mode !== after.mode && !isRelaxed) {
    throw fault(`Field ${path} has changed mode from ${before.mode} to ${after.mode}`);
  }
  for (const parameter of ["maxLength", "precision", "scale", "timestampPrecision"] as const) {
    if (before[parameter] !== after[parameter]) throw fault(`Field ${path} has changed its ${parameter}`);
  }
  if (before.type === "RANGE" && before.fields[0]?.type !== after.fields[0]?.type) {
    throw fault(`Field ${path} has changed its element type`);
  }
  const fields = before.type === "STRUCT" ? change(before.fields, after.fields, `${path}.`, context) : before.fields;
  return { ...keepRounding(after, before), name: before.name, fields };
}
