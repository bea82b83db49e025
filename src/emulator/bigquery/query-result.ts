/** Results of DuckDB as columns and cells of BigQuery. */
import type * as DuckDB from "@duckdb/node-api";
import { invalid } from "./api-error.ts";
import type { Cell } from "./cell.ts";
import type { Column, ColumnType } from "./column.ts";
import type { DuckDBModule } from "./duckdb-types.ts";

/** A column of a result, and how its values are read. */
interface ResultColumn {
  readonly column: Column;
  readonly toCell: (value: DuckDB.DuckDBValue) => Cell;
}

export interface QueryResult {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
}

/** @throws ApiError 400 for a type that BigQuery has not, or an integer beyond INT64 */
export function queryResult(duckdb: DuckDBModule, reader: DuckDB.DuckDBResultReader): QueryResult {
  const columns = reader.columnTypes().map((type, index) => resultColumn(duckdb, reader.columnName(index), type));
  const rows = reader.getRows().map((values) => values.map((value, index) => columns[index]!.toCell(value)));
  return { columns: columns.map(({ column }) => column), rows };
}

/** A list is a REPEATED column; BigQuery has no NULL array. */
function resultColumn(duckdb: DuckDBModule, name: string, type: DuckDB.DuckDBType): ResultColumn {
  if (type.typeId !== duckdb.DuckDBTypeId.LIST) return elementColumn(duckdb, name, type);
  const { valueType } = type;
  if (valueType.typeId === duckdb.DuckDBTypeId.LIST)
    throw invalid(`Column ${name} is an array of arrays`, "invalidQuery");
  const element = elementColumn(duckdb, name, valueType);
  return {
    column: { ...element.column, mode: "REPEATED" },
    toCell: (value) => (value === null ? [] : (value as DuckDB.DuckDBListValue).items.map(element.toCell)),
  };
}

function elementColumn(duckdb: DuckDBModule, name: string, type: DuckDB.DuckDBType): ResultColumn {
  if (type.typeId === duckdb.DuckDBTypeId.STRUCT) return structColumn(duckdb, name, type);
  const [columnType, convert] = scalar(duckdb, name, type);
  return {
    column: { name, type: columnType, mode: "NULLABLE", fields: [], annotations: {} },
    toCell: (value) => (value === null ? null : convert(value)),
  };
}

function structColumn(duckdb: DuckDBModule, name: string, type: DuckDB.DuckDBStructType): ResultColumn {
  const fields = type.entryNames.map((field, index) => resultColumn(duckdb, field, type.entryTypes[index]!));
  return {
    column: { name, type: "STRUCT", mode: "NULLABLE", fields: fields.map(({ column }) => column), annotations: {} },
    toCell(value) {
      if (value === null) return null;
      const { entries } = value as DuckDB.DuckDBStructValue;
      return fields.map(({ column, toCell }) => toCell(entries[column.name] ?? null));
    },
  };
}

type Scalar = readonly [type: ColumnType, convert: (value: NonNullable<DuckDB.DuckDBValue>) => Cell];

function scalar(duckdb: DuckDBModule, name: string, type: DuckDB.DuckDBType): Scalar {
  const { DuckDBTypeId: id } = duckdb;
  switch (type.typeId) {
    case id.BOOLEAN:
      return ["BOOL", (value) => value as boolean];
    case id.TINYINT:
    case id.SMALLINT:
    case id.INTEGER:
    case id.BIGINT:
    case id.UTINYINT:
    case id.USMALLINT:
    case id.UINTEGER:
    case id.UBIGINT:
    case id.HUGEINT:
    case id.UHUGEINT:
      return ["INT64", (value) => int64(value as number | bigint, name)];
    case id.FLOAT:
    case id.DOUBLE:
      return ["FLOAT64", (value) => value as number];
    case id.DECIMAL:
      return decimal(type);
    case id.VARCHAR:
      return [type.alias === "JSON" ? "JSON" : "STRING", (value) => value as string];
    case id.UUID:
    case id.ENUM:
      return ["STRING", String];
    case id.BLOB:
      return ["BYTES", (value) => Buffer.from((value as DuckDB.DuckDBBlobValue).bytes)];
    case id.DATE:
      return ["DATE", (value) => (value as DuckDB.DuckDBDateValue).days];
    case id.TIME:
      return ["TIME", (value) => Number((value as DuckDB.DuckDBTimeValue).micros)];
    case id.TIMESTAMP:
      return ["DATETIME", (value) => (value as DuckDB.DuckDBTimestampValue).micros];
    case id.TIMESTAMP_TZ:
      return ["TIMESTAMP", (value) => (value as DuckDB.DuckDBTimestampTZValue).micros];
    case id.INTERVAL:
      return ["INTERVAL", (value) => intervalOf(value as DuckDB.DuckDBIntervalValue)];
    case id.SQLNULL:
      return ["INT64", () => null];
    default:
      throw invalid(`Column ${name} has the type ${String(type)}, which BigQuery has not: cast it`, "invalidQuery");
  }
}

/** DuckDB sums INT64 into wider integers; BigQuery overflows. */
function int64(value: number | bigint, column: string): bigint {
  const integer = BigInt(value);
  if (BigInt.asIntN(64, integer) !== integer) throw invalid(`int64 overflow in column ${column}`, "invalidQuery");
  return integer;
}

function decimal({ width, scale }: DuckDB.DuckDBDecimalType): Scalar {
  const type = scale <= 9 && width - scale <= 29 ? "NUMERIC" : "BIGNUMERIC";
  const unit = 10n ** BigInt((type === "NUMERIC" ? 9 : 38) - scale);
  return [type, (value) => (value as DuckDB.DuckDBDecimalValue).value * unit];
}

function intervalOf({ months, days, micros }: DuckDB.DuckDBIntervalValue): Cell {
  return { months, days, micros };
}
