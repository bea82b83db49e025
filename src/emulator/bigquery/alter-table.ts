/** What `ALTER TABLE` can do to columns and REST cannot: drop one, or give it a wider type. */
import { invalid } from "./api-error.ts";
import { widening } from "./column-conversion.ts";
import { fieldJson } from "./column-json.ts";
import { parseColumns } from "./column-parser.ts";
import { type Column, sameName } from "./column.ts";
import type { TableState } from "./stored-table.ts";
import { checked } from "./table-resource.ts";

/** @throws ApiError 400 when there is no such column, it is the last one, or a key needs it */
export function withoutColumn(before: TableState, name: string, nowMs: number): TableState {
  const dropped = columnOf(before, name);
  if (before.columns.length === 1) throw invalid("Cannot drop the only column of a table");
  const columns = before.columns.filter((column) => column !== dropped);
  return checked({ ...before, columns, modifiedMs: nowMs });
}

/** A field of REST's `schema.fields`. */
export interface TypedField {
  readonly name: string;
  readonly type: string;
  readonly [key: string]: unknown;
}

/**
 * `SET DATA TYPE`.
 *
 * @param field has the new type; mode and all else that it does not say stay as they are
 * @throws ApiError 400 when there is no such column, or it cannot have that type
 */
export function withColumnType(before: TableState, field: TypedField, nowMs: number): TableState {
  const old = columnOf(before, field.name);
  const wanted = parseColumns([{ ...fieldJson(old), ...withoutParameters, ...field }])[0]!;
  if (!isWider(old, wanted)) {
    throw invalid(
      `ALTER TABLE ALTER COLUMN SET DATA TYPE requires that the existing column type (${old.type}) is assignable to the new type (${wanted.type})`,
    );
  }
  const columns = before.columns.map((column) => (column === old ? { ...wanted, name: old.name } : column));
  return checked({ ...before, columns, modifiedMs: nowMs });
}

const withoutParameters = { maxLength: undefined, precision: undefined, scale: undefined };

function columnOf({ columns }: TableState, name: string): Column {
  const column = columns.find((column) => sameName(column.name, name));
  if (!column) throw invalid(`Column not found: ${name}`);
  return column;
}

/** Whether every value of the one is a value of the other. */
function isWider(from: Column, to: Column): boolean {
  if (from.mode !== to.mode) return false;
  if (from.type !== to.type) return widening(from.type, to.type) !== undefined && to.precision === undefined;
  return holds(to.maxLength, from.maxLength) && holdsDigits(from, to);
}

/** A parameter that is not there sets no limit. */
function holds(limit: number | undefined, before: number | undefined): boolean {
  return limit === undefined || (before !== undefined && limit >= before);
}

function holdsDigits(from: Column, to: Column): boolean {
  if (to.precision === undefined) return true;
  if (from.precision === undefined) return false;
  const [scale, whole] = [to.scale ?? 0, to.precision - (to.scale ?? 0)];
  return scale >= (from.scale ?? 0) && whole >= from.precision - (from.scale ?? 0);
}
