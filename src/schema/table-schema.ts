/** Columns of a BigQuery table, in the one form that the rest of Millrace reads, and the parser of its JSON. */
import { SetupError } from "../errors.ts";
import { decimalFault, foldName, nameFault } from "./column-rules.ts";

export type ColumnType = (typeof columnTypes)[number];

export const columnTypes = [
  "BOOL",
  "INT64",
  "FLOAT64",
  "NUMERIC",
  "BIGNUMERIC",
  "STRING",
  "BYTES",
  "DATE",
  "TIME",
  "DATETIME",
  "TIMESTAMP",
  "JSON",
  "GEOGRAPHY",
  "INTERVAL",
  "RANGE",
  "STRUCT",
] as const;

type ColumnMode = "NULLABLE" | "REQUIRED" | "REPEATED";

/** Element type of a RANGE column. */
export type RangeElementType = "DATE" | "DATETIME" | "TIMESTAMP";

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly mode: ColumnMode;
  /** Only of a STRUCT, in the order of the table. */
  readonly fields: readonly Column[];
  /** STRING(L) in code points, BYTES(L) in bytes. */
  readonly maxLength?: number;
  /** NUMERIC(P,S) and BIGNUMERIC(P,S): total digits. */
  readonly precision?: number;
  /** NUMERIC(P,S) and BIGNUMERIC(P,S): fraction digits; 0 when only a precision is given. */
  readonly scale?: number;
  /** Only of a RANGE. */
  readonly rangeElementType?: RangeElementType;
  /** Fraction digits of a TIMESTAMP: 6 unless the table says 12. */
  readonly timestampPrecision?: 6 | 12;
  /** The column has a default value expression. Only columns of the table have: BigQuery fills in nothing inside a STRUCT. */
  readonly hasDefault: boolean;
}

export interface TableSchema {
  /** In the order of the table. */
  readonly columns: readonly Column[];
  /** Column names of the primary key; empty when the table has none. */
  readonly primaryKey: readonly string[];
}

const maxColumns = 10_000;
/** Levels of STRUCT columns; the columns within the innermost are not counted. */
const maxDepth = 15;

const typeAliases: Readonly<Record<string, ColumnType>> = {
  BOOLEAN: "BOOL",
  INTEGER: "INT64",
  INT: "INT64",
  SMALLINT: "INT64",
  BIGINT: "INT64",
  TINYINT: "INT64",
  BYTEINT: "INT64",
  FLOAT: "FLOAT64",
  DECIMAL: "NUMERIC",
  BIGDECIMAL: "BIGNUMERIC",
  RECORD: "STRUCT",
};

const rangeElementTypes: readonly RangeElementType[] = ["DATE", "DATETIME", "TIMESTAMP"];
const modes: readonly ColumnMode[] = ["NULLABLE", "REQUIRED", "REPEATED"];

/**
 * Reads the schema of a table: the array of fields that `bq show --schema` prints, or a table resource
 * (`schema.fields`, `tableConstraints.primaryKey.columns`).
 *
 * @throws SetupError with one line for every fault, each with the path of its column
 */
export function parseTableSchema(json: unknown): TableSchema {
  const reader = new SchemaReader();
  const schema = reader.table(json);
  if (reader.faults.length > 0) {
    throw new SetupError(`The table schema cannot be used:\n${reader.faults.map((fault) => `- ${fault}`).join("\n")}`);
  }
  return schema;
}

/** Reads one schema and collects its faults. */
class SchemaReader {
  readonly faults: string[] = [];
  #columnCount = 0;

  table(json: unknown): TableSchema {
    const fields = Array.isArray(json) ? json : member(member(json, "schema"), "fields");
    if (!Array.isArray(fields)) {
      this.faults.push("expected an array of fields, or a table resource with schema.fields");
      return { columns: [], primaryKey: [] };
    }
    const columns = this.#columns(fields, "", 1);
    if (columns.length === 0) this.faults.push("the table has no columns");
    if (this.#columnCount > maxColumns) {
      this.faults.push(`${this.#columnCount} columns, nested ones counted, are more than ${maxColumns}`);
    }
    return { columns, primaryKey: this.#primaryKey(json, columns) };
  }

  #columns(fields: readonly unknown[], parent: string, depth: number): Column[] {
    const names = new Set<string>();
    return fields.map((field, index) => {
      const column = this.#column(field, parent, index, depth);
      const folded = foldName(column.name);
      if (names.has(folded))
        this.#fault(join(parent, column.name), "another column has this name; case does not count");
      if (folded !== "") names.add(folded);
      return column;
    });
  }

  #column(field: unknown, parent: string, index: number, depth: number): Column {
    this.#columnCount++;
    const name = member(field, "name");
    const path = typeof name === "string" && name !== "" ? join(parent, name) : `${parent}[${index}]`;
    const check = (fault: string | undefined): void => {
      if (fault !== undefined) this.#fault(path, fault);
    };
    check(typeof name === "string" ? nameFault(name) : "expected an object with a name");
    const type = this.#type(member(field, "type"), path);
    const column: Column = {
      name: typeof name === "string" ? name : "",
      type,
      mode: this.#mode(member(field, "mode"), path),
      fields: this.#fields(member(field, "fields"), type, path, depth),
      ...this.#length(field, type, path),
      ...this.#decimal(field, path),
      ...this.#timestampPrecision(field, type, path),
      ...this.#rangeElementType(field, type, path),
      hasDefault: depth === 1 && text(member(field, "defaultValueExpression")) !== "",
    };
    if (type === "NUMERIC" || type === "BIGNUMERIC") check(decimalFault(type, column.precision, column.scale));
    else if (column.precision !== undefined || column.scale !== undefined) {
      check(`precision and scale belong to NUMERIC and BIGNUMERIC, not to ${type}`);
    }
    return column;
  }

  #type(value: unknown, path: string): ColumnType {
    const name = text(value).toUpperCase();
    const type = typeAliases[name] ?? columnTypes.find((known) => known === name);
    if (type === undefined) this.#fault(path, "the type is none that BigQuery has");
    return type ?? "STRING";
  }

  #mode(value: unknown, path: string): ColumnMode {
    if (value === undefined || value === null || value === "") return "NULLABLE";
    const mode = modes.find((known) => known === text(value).toUpperCase());
    if (mode === undefined) this.#fault(path, `the mode must be ${modes.join(", ")}`);
    return mode ?? "NULLABLE";
  }

  #fields(value: unknown, type: ColumnType, path: string, depth: number): readonly Column[] {
    const fields = Array.isArray(value) ? value : [];
    if (type !== "STRUCT") {
      if (fields.length > 0) this.#fault(path, `only a STRUCT has fields, not ${type}`);
      return [];
    }
    if (fields.length === 0) this.#fault(path, "a STRUCT needs fields");
    if (depth <= maxDepth) return this.#columns(fields, path, depth + 1);
    this.#fault(path, `STRUCT columns are nested deeper than ${maxDepth} levels`);
    return [];
  }

  #length(field: unknown, type: ColumnType, path: string): Pick<Column, "maxLength"> {
    const maxLength = this.#integer(field, "maxLength", path);
    if (maxLength === undefined) return {};
    if (type !== "STRING" && type !== "BYTES")
      this.#fault(path, `maxLength belongs to STRING and BYTES, not to ${type}`);
    else if (maxLength === 0) this.#fault(path, "maxLength must be at least 1");
    return { maxLength };
  }

  /** A scale is filled in where only a precision is given. */
  #decimal(field: unknown, path: string): Pick<Column, "precision" | "scale"> {
    const precision = this.#integer(field, "precision", path);
    const scale = this.#integer(field, "scale", path);
    if (precision === undefined) return scale === undefined ? {} : { scale };
    return { precision, scale: scale ?? 0 };
  }

  #timestampPrecision(field: unknown, type: ColumnType, path: string): Pick<Column, "timestampPrecision"> {
    const precision = this.#integer(field, "timestampPrecision", path);
    if (precision === undefined) return {};
    if (type !== "TIMESTAMP") this.#fault(path, `timestampPrecision belongs to TIMESTAMP, not to ${type}`);
    if (precision === 6 || precision === 12) return { timestampPrecision: precision };
    this.#fault(path, "timestampPrecision must be 6 or 12");
    return {};
  }

  #rangeElementType(field: unknown, type: ColumnType, path: string): Pick<Column, "rangeElementType"> {
    const value = member(field, "rangeElementType");
    const name = text(member(value, "type") ?? value).toUpperCase();
    const rangeElementType = rangeElementTypes.find((known) => known === name);
    if (type !== "RANGE") {
      if (name !== "") this.#fault(path, `rangeElementType belongs to RANGE, not to ${type}`);
      return {};
    }
    if (rangeElementType !== undefined) return { rangeElementType };
    this.#fault(path, `a RANGE needs a rangeElementType.type of ${rangeElementTypes.join(", ")}`);
    return {};
  }

  /** An integer that comes as text or as a number; undefined when there is none. */
  #integer(field: unknown, key: string, path: string): number | undefined {
    const value = member(field, key);
    if (value === undefined || value === null || value === "") return undefined;
    const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && Number.isSafeInteger(number) && number >= 0) return number;
    this.#fault(path, `${key} must be a whole number, not negative`);
    return undefined;
  }

  #primaryKey(json: unknown, columns: readonly Column[]): readonly string[] {
    const names = member(member(member(json, "tableConstraints"), "primaryKey"), "columns");
    if (!Array.isArray(names)) return [];
    return names.map((name: unknown) => {
      const column = columns.find((candidate) => foldName(candidate.name) === foldName(text(name)));
      if (column === undefined) this.faults.push("the primary key names a column that the table does not have");
      return column?.name ?? "";
    });
  }

  #fault(path: string, fault: string): void {
    this.faults.push(`${path}: ${fault}`);
  }
}

function member(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function join(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}
