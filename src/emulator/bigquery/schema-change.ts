/** Changes of a table's schema through REST: columns may be added at the end and REQUIRED may be relaxed, nothing else. */
import { type ApiError, invalid } from "./api-error.ts";
import { type Column, sameName } from "./column.ts";

/**
 * The columns after the change: those of the table in their order, then the new ones.
 *
 * @param table name of the table, for the message
 * @throws ApiError 400
 */
export function changedColumns(table: string, before: readonly Column[], wanted: readonly Column[]): readonly Column[] {
  return change(before, wanted, "", (reason) => invalid(`Provided Schema does not match Table ${table}. ${reason}`));
}

type Fault = (reason: string) => ApiError;

function change(before: readonly Column[], wanted: readonly Column[], prefix: string, fault: Fault): readonly Column[] {
  const kept = before.map((column) => {
    const after = wanted.find(({ name }) => sameName(name, column.name));
    if (!after) throw fault(`Field ${prefix}${column.name} is missing in new schema`);
    return changed(column, after, prefix, fault);
  });
  const added = wanted.filter(({ name }) => !before.some((column) => sameName(column.name, name)));
  for (const column of added) {
    if (column.mode === "REQUIRED") {
      throw fault(`Cannot add required fields to an existing schema. (field: ${prefix}${column.name})`);
    }
  }
  return [...kept, ...added];
}

function changed(before: Column, after: Column, prefix: string, fault: Fault): Column {
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
  const fields = before.type === "STRUCT" ? change(before.fields, after.fields, `${path}.`, fault) : before.fields;
  return { ...after, name: before.name, fields };
}
