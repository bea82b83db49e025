/** A table's columns in the forms of both interfaces: `schema.fields` of REST, TableSchema of the Storage Write API. */
import type { Column, ColumnType } from "./column.ts";

/** REST answers with the older names of these types. */
const legacyNames: Partial<Record<ColumnType, string>> = {
  BOOL: "BOOLEAN",
  INT64: "INTEGER",
  FLOAT64: "FLOAT",
  STRUCT: "RECORD",
};

/** A field of REST's `schema.fields`. */
export interface FieldJson {
  readonly name: string;
  readonly type: string;
  readonly mode: string;
  readonly fields?: readonly FieldJson[];
  readonly [key: string]: unknown;
}

/** 64-bit integers of REST are text. */
export function fieldJson(column: Column): FieldJson {
  const { name, type, mode, fields, defaultValue, annotations } = column;
  return {
    ...annotations,
    name,
    type: legacyNames[type] ?? type,
    mode,
    ...(type === "STRUCT" ? { fields: fields.map(fieldJson) } : {}),
    ...(type === "RANGE" ? { rangeElementType: { type: fields[0]?.type } } : {}),
    ...textOf(column, "maxLength"),
    ...textOf(column, "precision"),
    ...textOf(column, "scale"),
    ...textOf(column, "timestampPrecision"),
    ...(defaultValue ? { defaultValueExpression: defaultValue.expression } : {}),
  };
}

function textOf(column: Column, key: "maxLength" | "precision" | "scale" | "timestampPrecision"): object {
  return column[key] === undefined ? {} : { [key]: String(column[key]) };
}

/** A plain `google.cloud.bigquery.storage.v1.TableSchema`. */
export function storageSchema(columns: readonly Column[]): object {
  return { fields: columns.map(storageField) };
}

function storageField({ name, type, mode, fields, annotations, defaultValue, ...column }: Column): object {
  return {
    name,
    type: type === "FLOAT64" ? "DOUBLE" : type,
    mode,
    fields: type === "STRUCT" ? fields.map(storageField) : [],
    ...(typeof annotations["description"] === "string" ? { description: annotations["description"] } : {}),
    ...(column.maxLength === undefined ? {} : { maxLength: column.maxLength }),
    ...(column.precision === undefined ? {} : { precision: column.precision }),
    ...(column.scale === undefined ? {} : { scale: column.scale }),
    ...(column.timestampPrecision === undefined ? {} : { timestampPrecision: { value: column.timestampPrecision } }),
    ...(defaultValue ? { defaultValueExpression: defaultValue.expression } : {}),
    ...(type === "RANGE" ? { rangeElementType: { type: fields[0]?.type } } : {}),
  };
}
