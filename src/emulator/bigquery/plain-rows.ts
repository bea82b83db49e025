/** Rows as plain JSON objects, in the form in which `millrace map` prints them: the quick way to look at a table in a test. */
import type { Cell, Interval } from "./cell.ts";
import { textOfDate, textOfDatetime, textOfTime, textOfTimestamp, textOfTimestampPicos } from "./civil-time.ts";
import type { Column } from "./column.ts";
import { textOfDecimal } from "./decimal.ts";
import { textOfInterval } from "./interval.ts";
import { emptyCell } from "./row-decoder.ts";

type PlainValue = null | boolean | number | string | readonly PlainValue[] | PlainRow;

export interface PlainRow {
  readonly [column: string]: PlainValue;
}

/** @param cells in the order of the columns */
export function plainRow(columns: readonly Column[], cells: readonly Cell[]): PlainRow {
  return Object.fromEntries(
    columns.map((column, position) => [column.name, plainValue(column, cells[position] ?? emptyCell(column))]),
  );
}

function plainValue(column: Column, cell: Cell): PlainValue {
  if (column.mode !== "REPEATED") return single(column, cell);
  return (cell as readonly Cell[]).map((element) => single(column, element));
}

function single(column: Column, cell: Cell): PlainValue {
  if (cell === null) return null;
  switch (column.type) {
    case "BOOL":
    case "STRING":
    case "JSON":
    case "GEOGRAPHY":
      return cell as boolean | string;
    case "INT64":
      return (cell as bigint).toString();
    case "FLOAT64":
      return plainDouble(cell as number);
    case "NUMERIC":
    case "BIGNUMERIC":
      return textOfDecimal(cell as bigint, column.type);
    case "BYTES":
      return (cell as Buffer).toString("base64");
    case "DATE":
      return textOfDate(cell as number);
    case "TIME":
      return textOfTime(cell as number);
    case "DATETIME":
      return textOfDatetime(cell as bigint);
    case "TIMESTAMP":
      return column.timestampPrecision === 12 ? textOfTimestampPicos(cell as bigint) : textOfTimestamp(cell as bigint);
    case "INTERVAL":
      return textOfInterval(cell as Interval);
    case "RANGE":
    case "STRUCT":
      return plainRow(column.fields, cell as readonly Cell[]);
  }
}

/** JSON has no number for NaN and the infinities. */
function plainDouble(value: number): PlainValue {
  return Number.isFinite(value) ? value : String(value);
}
