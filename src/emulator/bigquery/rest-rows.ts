/** Rows in the form of REST: `{"f": [{"v": …}]}`, all values as text. */
import { invalid } from "./api-error.ts";
import type { Cell, Interval } from "./cell.ts";
import { textOfDate, textOfDatetime, textOfTime, textOfTimestamp, textOfTimestampPicos } from "./civil-time.ts";
import { type Column, sameName } from "./column.ts";
import { textOfDecimal } from "./decimal.ts";
import { textOfInterval } from "./interval.ts";
import { emptyCell } from "./row-decoder.ts";

/** How an answer writes TIMESTAMP: seconds as a float by default. */
export type TimestampFormat = "FLOAT64" | "INT64" | "ISO8601_STRING";

type RestValue = string | null | RestRow | readonly { readonly v: RestValue }[];

export interface RestRow {
  readonly f: readonly { readonly v: RestValue }[];
}

/** @throws ApiError 400 */
export function timestampFormat(useInt64Timestamp: unknown, outputFormat: unknown): TimestampFormat {
  const format = outputFormat ?? (String(useInt64Timestamp) === "true" ? "INT64" : "FLOAT64");
  if (format === "TIMESTAMP_OUTPUT_FORMAT_UNSPECIFIED") return "FLOAT64";
  if (format === "FLOAT64" || format === "INT64" || format === "ISO8601_STRING") return format;
  throw invalid("Invalid value for formatOptions.timestampOutputFormat");
}

/** @param cells in the order of the columns */
export function restRow(columns: readonly Column[], cells: readonly Cell[], format: TimestampFormat): RestRow {
  return {
    f: columns.map((column, position) => ({ v: restValue(column, cells[position] ?? emptyCell(column), format) })),
  };
}

function restValue(column: Column, cell: Cell, format: TimestampFormat): RestValue {
  if (column.mode !== "REPEATED") return cell === null ? null : single(column, cell, format);
  return (cell as readonly Cell[]).map((element) => ({ v: element === null ? null : single(column, element, format) }));
}

function single(column: Column, cell: Cell, format: TimestampFormat): RestValue {
  switch (column.type) {
    case "BOOL":
    case "INT64":
      return (cell as boolean | bigint).toString();
    case "STRING":
    case "JSON":
    case "GEOGRAPHY":
      return cell as string;
    case "FLOAT64":
      return textOfDouble(cell as number);
    case "NUMERIC":
    case "BIGNUMERIC":
      return textOfDecimal(cell as bigint, column.type);
    case "BYTES":
      return (cell as Buffer).toString("base64");
    case "DATE":
      return textOfDate(cell as number);
    case "TIME":
      return withoutZeros(textOfTime(cell as number));
    case "DATETIME":
      return withoutZeros(textOfDatetime(cell as bigint));
    case "TIMESTAMP":
      return timestamp(column, cell as bigint, format);
    case "INTERVAL":
      return textOfInterval(cell as Interval);
    case "RANGE":
      return range(column, cell as readonly Cell[], format);
    case "STRUCT":
      return restRow(column.fields, cell as readonly Cell[], format);
  }
}

function textOfDouble(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toFixed(1) : String(value);
}

/** BigQuery leaves a fraction of nothing but zeros away. */
function withoutZeros(text: string): string {
  return text.replace(/\.000000$/, "");
}

function timestamp({ timestampPrecision }: Column, value: bigint, format: TimestampFormat): string {
  const isPicos = timestampPrecision === 12;
  if (format === "ISO8601_STRING") return isPicos ? textOfTimestampPicos(value) : textOfTimestamp(value);
  const micros = isPicos ? value / 1_000_000n : value;
  if (format === "INT64") return String(micros);
  return (Number(micros) / 1e6).toExponential().replace("e+", "E").replace("e", "E");
}

function range({ fields }: Column, bounds: readonly Cell[], format: TimestampFormat): string {
  const [start, end] = bounds.map((bound, index) =>
    bound === null ? "UNBOUNDED" : (single(fields[index]!, bound, format) as string),
  );
  return `[${start}, ${end})`;
}

/** The columns that `selectedFields` asks for (names with dots for nested ones, parted by commas), and where they stand. */
export function selectColumns(
  columns: readonly Column[],
  selectedFields: string | null,
): { readonly columns: readonly Column[]; readonly project: (cells: readonly Cell[]) => readonly Cell[] } {
  if (!selectedFields) return { columns, project: (cells) => cells };
  const selection = select(
    columns,
    selectedFields.split(",").map((path) => path.trim()),
  );
  return {
    columns: selection.map(({ column }) => column),
    project: (cells) => selection.map(({ take }) => take(cells)),
  };
}

interface Selected {
  readonly column: Column;
  readonly take: (cells: readonly Cell[]) => Cell;
}

function select(columns: readonly Column[], paths: readonly string[]): readonly Selected[] {
  const unknown = paths.find((path) => !columns.some(({ name }) => sameName(name, path.split(".")[0] ?? "")));
  if (unknown !== undefined) throw invalid(`No such field: ${unknown}`);
  return columns.flatMap((column, position) => {
    const own = paths.filter((path) => sameName(path.split(".")[0] ?? "", column.name));
    if (own.length === 0) return [];
    const at = (cells: readonly Cell[]): Cell => cells[position] ?? emptyCell(column);
    const nested = own.map((path) => path.split(".").slice(1).join("."));
    if (nested.includes("")) return [{ column, take: at }];
    const inner = select(column.fields, nested);
    const pick = (cell: Cell): Cell => (cell === null ? null : inner.map(({ take }) => take(cell as readonly Cell[])));
    const take = (cells: readonly Cell[]): Cell =>
      column.mode === "REPEATED" ? (at(cells) as readonly Cell[]).map(pick) : pick(at(cells));
    return [{ column: { ...column, fields: inner.map((selected) => selected.column) }, take }];
  });
}
