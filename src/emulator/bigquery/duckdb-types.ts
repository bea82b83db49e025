/** Columns of BigQuery as DuckDB types, and their cells as DuckDB values. */
import type * as DuckDB from "@duckdb/node-api";
import type { Cell, Interval } from "./cell.ts";
import { textOfTimestampPicos } from "./civil-time.ts";
import type { Column } from "./column.ts";
import { textOfDecimal } from "./decimal.ts";
import { emptyCell } from "./row-decoder.ts";
import { quoteName } from "./sql-text.ts";

/** The package, which is there only when somebody installed it. */
export type DuckDBModule = typeof DuckDB;

/** What DuckDB has no type for is stored as text: BIGNUMERIC, GEOGRAPHY, TIMESTAMP(12). */
export function duckdbType(column: Column): string {
  const element = elementType(column);
  return column.mode === "REPEATED" ? `${element}[]` : element;
}

function elementType(column: Column): string {
  switch (column.type) {
    case "BOOL":
      return "BOOLEAN";
    case "INT64":
      return "BIGINT";
    case "FLOAT64":
      return "DOUBLE";
    case "NUMERIC":
      return "DECIMAL(38,9)";
    case "BIGNUMERIC":
    case "STRING":
    case "GEOGRAPHY":
      return "VARCHAR";
    case "BYTES":
      return "BLOB";
    case "DATE":
    case "TIME":
    case "JSON":
    case "INTERVAL":
      return column.type;
    case "DATETIME":
      return "TIMESTAMP";
    case "TIMESTAMP":
      return column.timestampPrecision === 12 ? "VARCHAR" : "TIMESTAMPTZ";
    case "RANGE":
    case "STRUCT":
      return `STRUCT(${column.fields.map((field) => `${quoteName(field.name)} ${duckdbType(field)}`).join(", ")})`;
  }
}

/** @param cell undefined in rows that are older than the column */
export function duckdbValue(duckdb: DuckDBModule, column: Column, cell: Cell | undefined): DuckDB.DuckDBValue {
  const value = cell ?? emptyCell(column);
  if (column.mode !== "REPEATED") return single(duckdb, column, value);
  return new duckdb.DuckDBListValue((value as readonly Cell[]).map((element) => single(duckdb, column, element)));
}

function single(duckdb: DuckDBModule, column: Column, cell: Cell): DuckDB.DuckDBValue {
  if (cell === null) return null;
  switch (column.type) {
    case "BOOL":
    case "INT64":
    case "FLOAT64":
    case "STRING":
    case "JSON":
    case "GEOGRAPHY":
      return cell as boolean | bigint | number | string;
    case "NUMERIC":
      return new duckdb.DuckDBDecimalValue(cell as bigint, 38, 9);
    case "BIGNUMERIC":
      return textOfDecimal(cell as bigint, "BIGNUMERIC");
    case "BYTES":
      return new duckdb.DuckDBBlobValue(cell as Buffer);
    case "DATE":
      return new duckdb.DuckDBDateValue(cell as number);
    case "TIME":
      return new duckdb.DuckDBTimeValue(BigInt(cell as number));
    case "DATETIME":
      return new duckdb.DuckDBTimestampValue(cell as bigint);
    case "TIMESTAMP":
      if (column.timestampPrecision === 12) return textOfTimestampPicos(cell as bigint);
      return new duckdb.DuckDBTimestampTZValue(cell as bigint);
    case "INTERVAL": {
      const { months, days, micros } = cell as Interval;
      return new duckdb.DuckDBIntervalValue(months, days, micros);
    }
    case "RANGE":
    case "STRUCT":
      return struct(duckdb, column.fields, cell as readonly Cell[]);
  }
}

function struct(duckdb: DuckDBModule, fields: readonly Column[], cells: readonly Cell[]): DuckDB.DuckDBStructValue {
  const entries = fields.map((field, position) => [field.name, duckdbValue(duckdb, field, cells[position])] as const);
  return new duckdb.DuckDBStructValue(Object.fromEntries(entries));
}
