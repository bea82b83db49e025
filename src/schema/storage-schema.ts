/** The table schema as the Storage Write API tells it: in `updated_schema` and in the answer to GetWriteStream. */
import { parseTableSchema } from "./table-schema.ts";
import type { TableSchema } from "./table-schema.ts";

/** Index: number of the type in `TableFieldSchema.Type`. Value: its name; DOUBLE alone differs from the REST API's. */
const types = [
  undefined,
  "STRING",
  "INT64",
  "DOUBLE",
  "STRUCT",
  "BYTES",
  "BOOL",
  "TIMESTAMP",
  "DATE",
  "TIME",
  "DATETIME",
  "GEOGRAPHY",
  "NUMERIC",
  "BIGNUMERIC",
  "INTERVAL",
  "JSON",
  "RANGE",
] as const;

/** Index: number of the mode in `TableFieldSchema.Mode`. */
const modes = ["NULLABLE", "NULLABLE", "REQUIRED", "REPEATED"] as const;

/** `google.cloud.bigquery.storage.v1.TableFieldSchema` as a plain object: enums by name or number, int64 as text or number. */
interface StorageField {
  readonly name?: string;
  readonly type?: string | number;
  readonly mode?: string | number;
  readonly fields?: readonly StorageField[];
  readonly maxLength?: string | number | null;
  readonly precision?: string | number | null;
  readonly scale?: string | number | null;
  readonly defaultValueExpression?: string;
  readonly timestampPrecision?: { readonly value?: string | number } | null;
  readonly rangeElementType?: { readonly type?: string | number } | null;
}

/**
 * Reads a `google.cloud.bigquery.storage.v1.TableSchema` message, given as a plain object.
 *
 * @param primaryKey the message does not tell it: the key that the table resource named
 * @throws SetupError with one line for every fault
 */
export function parseStorageSchema(message: unknown, primaryKey: readonly string[]): TableSchema {
  const fields = (message as { readonly fields?: readonly StorageField[] } | null)?.fields ?? [];
  return parseTableSchema({
    schema: { fields: fields.map(restField) },
    tableConstraints: { primaryKey: { columns: primaryKey } },
  });
}

/** The same field as the table resource spells it. Zero stands for a parameter that is not set. */
function restField(field: StorageField): object {
  const precision = parameter(field.precision);
  return {
    name: field.name,
    type: typeName(field.type),
    mode: modeName(field.mode),
    fields: (field.fields ?? []).map(restField),
    maxLength: parameter(field.maxLength),
    precision,
    scale: precision === undefined ? undefined : parameter(field.scale),
    defaultValueExpression: field.defaultValueExpression,
    timestampPrecision: parameter(field.timestampPrecision?.value),
    rangeElementType: { type: typeName(field.rangeElementType?.type) },
  };
}

function typeName(type: string | number | undefined): string | undefined {
  const name = typeof type === "number" ? types[type] : type;
  if (name === "TYPE_UNSPECIFIED") return undefined;
  return name === "DOUBLE" ? "FLOAT64" : name;
}

function modeName(mode: string | number | undefined): string | undefined {
  if (mode === "MODE_UNSPECIFIED") return "NULLABLE";
  return typeof mode === "number" ? (modes[mode] ?? String(mode)) : mode;
}

function parameter(value: string | number | null | undefined): string | number | undefined {
  return value === null || value === undefined || Number(value) === 0 ? undefined : value;
}
