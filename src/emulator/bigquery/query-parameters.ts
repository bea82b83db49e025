/** Query parameters: bound as text and cast to their type, so that no value passes through another form. */
import { invalid } from "./api-error.ts";

/** A QueryParameter of the REST interface. */
export interface QueryParameter {
  /** Absent of a positional parameter. */
  readonly name?: string;
  readonly parameterType?: { readonly type?: string };
  readonly parameterValue?: { readonly value?: string | null };
}

const types: Readonly<Record<string, string>> = {
  BOOL: "BOOLEAN",
  INT64: "BIGINT",
  FLOAT64: "DOUBLE",
  NUMERIC: "DECIMAL(38,9)",
  BIGNUMERIC: "VARCHAR",
  STRING: "VARCHAR",
  DATE: "DATE",
  TIME: "TIME",
  DATETIME: "TIMESTAMP",
  TIMESTAMP: "TIMESTAMPTZ",
  JSON: "JSON",
  GEOGRAPHY: "VARCHAR",
};

/** Texts, quoted names and comments are skipped. */
const placeholder = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\?|\$([A-Za-z_]\w*)/g;

/** A query with a cast around each placeholder: `?` for positional parameters, `$name` for named ones. */
export interface ParameterizedSql {
  readonly sql: string;
  /** The same with NULL in place of every parameter: DuckDB lists the tables only of SQL without placeholders. */
  readonly withNulls: string;
}

/** @throws ApiError 400 for a parameter that is missing or no scalar */
export function withParameters(sql: string, parameters: readonly QueryParameter[]): ParameterizedSql {
  if (parameters.length === 0) return { sql, withNulls: sql };
  const fill = (value: (parameter: string) => string): string => {
    let positional = 0;
    return sql.replace(placeholder, (all: string, name?: string) => {
      if (all !== "?" && name === undefined) return all;
      const parameter = name === undefined ? parameters[positional++] : byName(parameters, name);
      if (!parameter) throw invalid(`Query parameter ${name ?? `number ${positional}`} not found`, "invalidQuery");
      return `CAST(${value(all)} AS ${castOf(parameter)})`;
    });
  };
  return { sql: fill((placeholder) => placeholder), withNulls: fill(() => "NULL") };
}

/** What is bound: by place, or by name. */
export function bindings(
  parameters: readonly QueryParameter[],
): (string | null)[] | Record<string, string | null> | undefined {
  if (parameters.length === 0) return undefined;
  if (parameters[0]?.name === undefined) return parameters.map(valueOf);
  return Object.fromEntries(parameters.map((parameter) => [parameter.name ?? "", valueOf(parameter)]));
}

function byName(parameters: readonly QueryParameter[], name: string): QueryParameter | undefined {
  return parameters.find((parameter) => parameter.name?.toLowerCase() === name.toLowerCase());
}

function castOf({ name, parameterType }: QueryParameter): string {
  const type = types[parameterType?.type ?? ""];
  if (type) return type;
  throw invalid(`Query parameter ${name ?? ""}: the embedded BigQuery takes scalars only, no ${parameterType?.type}`);
}

function valueOf({ parameterValue }: QueryParameter): string | null {
  return parameterValue?.value ?? null;
}
