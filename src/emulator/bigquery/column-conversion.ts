/** Rows of an older version of a table, in the columns that it has now. */
import type { Cell } from "./cell.ts";
import type { Column, ColumnType } from "./column.ts";
import { textOfDecimal } from "./decimal.ts";
import { emptyCell } from "./row-decoder.ts";
import type { TableVersion } from "./table-version.ts";

/** @returns what turns cells of the one into cells of the other */
export function conversion(from: TableVersion, to: TableVersion): (cells: readonly Cell[]) => readonly Cell[] {
  if (from === to) return (cells) => cells;
  const takes = to.columns.map((column, position) => takeOf(column, from.ids.indexOf(to.ids[position]!), from));
  return (cells) => takes.map((take) => take(cells));
}

type Take = (cells: readonly Cell[]) => Cell;

/** @param source place of the column in the older version; -1: it came later */
function takeOf(column: Column, source: number, { columns }: TableVersion): Take {
  const before = columns[source];
  if (!before) return () => emptyCell(column);
  if (before.type === column.type) return (cells) => cells[source]!;
  const widen = widening(before.type, column.type);
  if (!widen) throw new Error(`No cell of ${before.type} becomes one of ${column.type}`);
  return (cells) => {
    const cell = cells[source]!;
    if (cell === null) return null;
    return Array.isArray(cell) ? (cell as readonly Cell[]).map(widen) : widen(cell);
  };
}

const numericUnit = 10n ** 9n;
const bignumericUnit = 10n ** 38n;

const widenings: Partial<Record<ColumnType, Partial<Record<ColumnType, (cell: Cell) => Cell>>>> = {
  INT64: {
    NUMERIC: (cell) => (cell as bigint) * numericUnit,
    BIGNUMERIC: (cell) => (cell as bigint) * bignumericUnit,
    FLOAT64: Number,
  },
  NUMERIC: {
    BIGNUMERIC: (cell) => (cell as bigint) * (bignumericUnit / numericUnit),
    FLOAT64: (cell) => Number(textOfDecimal(cell as bigint, "NUMERIC")),
  },
  BIGNUMERIC: { FLOAT64: (cell) => Number(textOfDecimal(cell as bigint, "BIGNUMERIC")) },
};

/** What turns values of a type into those of a wider one, where BigQuery lets a column change so. */
export function widening(from: ColumnType, to: ColumnType): ((cell: Cell) => Cell) | undefined {
  return widenings[from]?.[to];
}
