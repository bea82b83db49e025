/** Rows read back from their bytes, in the JSON that `map` prints. Every value is decoded exactly, none passes through a double. */
import { takesDefault } from "../mapping/mapping-plan.ts";
import type { Column, TableSchema } from "../schema/table-schema.ts";
import { innerColumns, protoTypeOf, wireTypes } from "../schema/wire-type.ts";
import { cellText } from "./cell-text.ts";
import { WireCursor, type WireValue } from "./wire-cursor.ts";

/**
 * The row whose fields are `bytes[start, end)`, as a JSON object with every column of the table; those that BigQuery will fill
 * with their default are left out.
 */
export function rowJson(
  table: TableSchema,
  missingValues: "null" | "default",
  bytes: Buffer,
  start: number,
  end: number,
): string {
  return recordJson(table.columns, new WireCursor(bytes, start, end), (column) => takesDefault(column, missingValues));
}

const never = (): boolean => false;

function recordJson(columns: readonly Column[], cursor: WireCursor, isLeftOut: (column: Column) => boolean): string {
  const values = readFields(columns, cursor);
  const members: string[] = [];
  for (const [index, column] of columns.entries()) {
    const cells = values[index]!;
    if (cells.length === 0 && column.mode !== "REPEATED" && isLeftOut(column)) continue;
    members.push(`${JSON.stringify(column.name)}:${columnJson(column, cells)}`);
  }
  return `{${members.join(",")}}`;
}

/** Per column its values, in the order in which they stand in the row. */
function readFields(columns: readonly Column[], cursor: WireCursor): readonly WireValue[][] {
  const values: WireValue[][] = columns.map(() => []);
  while (!cursor.atEnd) {
    const { field, wireType } = cursor.tag();
    const column = columns[field - 1]!;
    const cells = values[field - 1]!;
    const elementType = wireTypes[protoTypeOf(column)];
    if (wireType === 2 && elementType !== 2) {
      const packed = cursor.part();
      while (!packed.atEnd) cells.push(packed.value(elementType));
    } else {
      cells.push(cursor.value(wireType));
    }
  }
  return values;
}

function columnJson(column: Column, cells: readonly WireValue[]): string {
  if (column.mode === "REPEATED") return `[${cells.map((cell) => valueJson(column, cell)).join(",")}]`;
  const cell = cells.at(-1);
  return cell === undefined ? "null" : valueJson(column, cell);
}

function valueJson(column: Column, value: WireValue): string {
  if (value instanceof WireCursor && protoTypeOf(column) === "message") {
    return recordJson(innerColumns(column), value, never);
  }
  return cellText(column, value);
}
