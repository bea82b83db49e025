/** Columns from the `schema.fields` of a table resource, checked as BigQuery checks them when a table is created. */
import { z } from "zod";
import { type ApiError, invalid } from "./api-error.ts";
import { InvalidValue } from "./cell.ts";
import type { Column, ColumnMode, ColumnType } from "./column.ts";
import { parseDefault } from "./default-value.ts";
import { roundingModes } from "./rounding-mode.ts";

const typeNames: Readonly<Record<string, ColumnType>> = {
  BOOL: "BOOL",
  BOOLEAN: "BOOL",
  INT64: "INT64",
  INTEGER: "INT64",
  FLOAT64: "FLOAT64",
  FLOAT: "FLOAT64",
  NUMERIC: "NUMERIC",
  BIGNUMERIC: "BIGNUMERIC",
  STRING: "STRING",
  BYTES: "BYTES",
  DATE: "DATE",
  TIME: "TIME",
  DATETIME: "DATETIME",
  TIMESTAMP: "TIMESTAMP",
  JSON: "JSON",
  GEOGRAPHY: "GEOGRAPHY",
  INTERVAL: "INTERVAL",
  RANGE: "RANGE",
  STRUCT: "STRUCT",
  RECORD: "STRUCT",
};

const int64 = z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)]).optional();

const fieldForm = z.looseObject({
  name: z.string(),
  type: z.string(),
  mode: z.string().optional(),
  fields: z.array(z.unknown()).optional(),
  maxLength: int64,
  precision: int64,
  scale: int64,
  timestampPrecision: int64,
  roundingMode: z.enum(roundingModes).optional(),
  defaultValueExpression: z.string().nullish(),
  rangeElementType: z.looseObject({ type: z.string() }).optional(),
});

type FieldForm = z.infer<typeof fieldForm>;

const maxColumns = 10_000;
const maxLevels = 15;

/** @throws ApiError 400 */
export function parseColumns(fields: unknown): readonly Column[] {
  const columns = new ColumnParser().parse(fields, "", 1);
  if (count(columns) > maxColumns) throw invalid(`Table has more than ${maxColumns} columns, counting nested ones`);
  return columns;
}

function count(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + 1 + (column.type === "STRUCT" ? count(column.fields) : 0), 0);
}

class ColumnParser {
  parse(fields: unknown, prefix: string, level: number): readonly Column[] {
    if (!Array.isArray(fields)) throw invalid("Schema has no list of fields");
    if (level > maxLevels) throw invalid(`Field ${prefix} is nested more than ${maxLevels} levels deep`);
    const columns = fields.map((field) => this.#column(field, prefix, level));
    const seen = new Set<string>();
    for (const { name } of columns) {
      if (seen.has(name.toLowerCase())) throw invalid(`Duplicate column name: ${prefix}${name}`);
      seen.add(name.toLowerCase());
    }
    return columns;
  }

  #column(json: unknown, prefix: string, level: number): Column {
    const parsed = fieldForm.safeParse(json);
    if (!parsed.success) throw invalid(`Invalid field in the schema: ${z.prettifyError(parsed.error)}`);
    const form = parsed.data;
    const { name, type: typeName } = form;
    const path = prefix + name;
    checkName(name, path, level);
    const type = typeNames[typeName.toUpperCase()];
    if (!type) throw invalid(`Invalid value for type of field ${path}: ${typeName} is not a valid value`);
    const column = { name, type, mode: modeOf(form.mode, path), ...parametersOf(type, form, path) };
    return {
      ...column,
      fields: this.#nested(type, form, path, level),
      roundHalfEven: form.roundingMode === "ROUND_HALF_EVEN",
      annotations: annotationsOf(form),
      ...defaultOf(column, form, path, level),
    };
  }

  #nested(type: ColumnType, form: FieldForm, path: string, level: number): readonly Column[] {
    if (type === "RANGE") return rangeBounds(form, path);
    if (type !== "STRUCT") {
      if (form.fields?.length) throw invalid(`Field ${path} is type ${type} but has a schema`);
      return [];
    }
    if (!form.fields?.length) throw invalid(`Field ${path} is type RECORD but has no schema`);
    return this.parse(form.fields, `${path}.`, level + 1);
  }
}

/** Letters, digits and underscore, or what flexible names allow beside them. */
const nameForm = /^[\p{L}\p{N}\p{Pc}\p{Pd}\p{M}&%=+:'<>#| ]{1,300}$/u;
const reservedPrefix =
  /^(?:_TABLE_|_FILE_|_PARTITION|_ROW_TIMESTAMP|__ROOT__|_COLIDENTIFIER|_CHANGE_SEQUENCE_NUMBER|_CHANGE_TYPE|_CHANGE_TIMESTAMP)/i;

function checkName(name: string, path: string, level: number): void {
  if (!nameForm.test(name)) throw invalid(`Invalid field name "${path}"`);
  if (level === 1 && reservedPrefix.test(name))
    throw invalid(`Invalid field name "${path}": its beginning is reserved`);
}

function modeOf(mode: string | undefined, path: string): ColumnMode {
  const name = (mode || "NULLABLE").toUpperCase();
  if (name === "NULLABLE" || name === "REQUIRED" || name === "REPEATED") return name;
  throw invalid(`Invalid value for mode of field ${path}: ${mode} is not a valid value`);
}

type Parameters = Pick<Column, "maxLength" | "precision" | "scale" | "timestampPrecision">;

function parametersOf(type: ColumnType, form: FieldForm, path: string): Parameters {
  const { maxLength, precision, scale, timestampPrecision } = form;
  const fault = (what: string): ApiError => invalid(`Field ${path}: ${what}`);
  if (maxLength !== undefined && type !== "STRING" && type !== "BYTES") throw fault(`${type} takes no maxLength`);
  if (maxLength === 0) throw fault("maxLength must be positive");
  if (precision === undefined && scale !== undefined) throw fault("scale without precision");
  if (precision !== undefined) checkPrecision(type, precision, scale ?? 0, fault);
  if (timestampPrecision !== undefined && type !== "TIMESTAMP") throw fault(`${type} takes no timestampPrecision`);
  if (timestampPrecision !== undefined && timestampPrecision !== 6 && timestampPrecision !== 12) {
    throw fault("timestampPrecision must be 6 or 12");
  }
  return { maxLength, precision, scale, timestampPrecision };
}

/** Whole digits that a type has room for, and the most digits of its fraction. */
const decimalDigits: Partial<Record<ColumnType, { whole: number; fraction: number }>> = {
  NUMERIC: { whole: 29, fraction: 9 },
  BIGNUMERIC: { whole: 38, fraction: 38 },
};

function checkPrecision(type: ColumnType, precision: number, scale: number, fault: (what: string) => ApiError): void {
  const digits = decimalDigits[type];
  if (!digits) throw fault(`${type} takes no precision`);
  if (scale > digits.fraction) throw fault(`${type} takes a scale of at most ${digits.fraction}`);
  if (precision < Math.max(1, scale) || precision > scale + digits.whole) {
    throw fault(`precision of ${type} with scale ${scale} must be ${Math.max(1, scale)} to ${scale + digits.whole}`);
  }
}

function rangeBounds({ rangeElementType }: FieldForm, path: string): readonly Column[] {
  const type = typeNames[rangeElementType?.type.toUpperCase() ?? ""];
  if (type !== "DATE" && type !== "DATETIME" && type !== "TIMESTAMP") {
    throw invalid(`Field ${path}: a RANGE needs rangeElementType DATE, DATETIME or TIMESTAMP`);
  }
  return ["start", "end"].map((name) => ({ name, type, mode: "NULLABLE", fields: [], annotations: {} }));
}

/** Keys that the column itself holds; all others are annotations. */
const ownKeys = new Set([
  "name",
  "type",
  "mode",
  "fields",
  "maxLength",
  "precision",
  "scale",
  "timestampPrecision",
  "rangeElementType",
  "defaultValueExpression",
]);

function annotationsOf(form: FieldForm): Column["annotations"] {
  return Object.fromEntries(Object.entries(form).filter(([key]) => !ownKeys.has(key)));
}

function defaultOf(
  column: Pick<Column, "name" | "type" | "mode" | keyof Parameters>,
  { defaultValueExpression: expression }: FieldForm,
  path: string,
  level: number,
): Pick<Column, "defaultValue"> {
  if (!expression) return {};
  if (level > 1) throw invalid(`Field ${path}: only columns of the table have default values, not fields inside them`);
  try {
    return { defaultValue: parseDefault(expression, column, column.mode === "REPEATED") };
  } catch (error) {
    if (error instanceof InvalidValue) throw invalid(`Field ${path}: ${error.message}`);
    throw error;
  }
}
