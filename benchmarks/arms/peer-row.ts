/** Rows of the other libraries: they send NUMERIC and DATETIME as text, where the slow path has bytes and packed numbers. */
import type { Column } from "../../src/schema/table-schema.ts";
import { decimalOfText } from "../../test/support/slow-numbers.ts";
import type { Cell, Row } from "../../test/support/slow-row.ts";
import { datetimeOfText } from "../../test/support/slow-times.ts";

/** The row as the slow path would have it. */
export function comparableRow(row: Row, columns: readonly Column[]): Row {
  const cells = Object.entries(row).map(([field, cell]) => {
    const column = columns[Number(field.slice(1)) - 1]!;
    const comparable = Array.isArray(cell)
      ? cell.map((element) => comparableCell(element as Cell, column))
      : comparableCell(cell, column);
    return [field, comparable] as const;
  });
  return Object.fromEntries(cells);
}

function comparableCell(cell: Cell, column: Column): Cell {
  switch (column.type) {
    case "NUMERIC":
      return decimalOfText(textOf(cell), column, "refuse", "reject").toString("base64");
    case "DATETIME":
      return String(datetimeOfText(textOf(cell), "reject"));
    case "STRUCT":
      return comparableRow(cell as Row, column.fields);
    default:
      return cell;
  }
}

function textOf(cell: Cell): string {
  if (typeof cell !== "string") throw new Error(`a value that travels as text is a ${typeof cell}`);
  return cell;
}
