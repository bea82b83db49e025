/** Refusals of single rows by BigQuery. */
import type { Refusal } from "../errors.ts";
import type { Column, TableSchema } from "../schema/table-schema.ts";
import type { RowError } from "./append-answer.ts";

/** BigQuery refused the row. Its words go along, into the dead letter. */
export function rowRejected(serverMessage: string, table: TableSchema | undefined): Refusal {
  const path = table ? columnNamedIn(serverMessage, table) : "";
  return {
    code: "ROW_REJECTED",
    path,
    stage: "append",
    message: path === "" ? "BigQuery refused the row" : "BigQuery refused the value of this column",
    serverMessage,
  };
}

/** The server takes no request that is large enough for the row. */
export const rowTooLarge: Refusal = {
  code: "ROW_TOO_LARGE",
  path: "",
  stage: "append",
  message: "BigQuery refused a request with this row alone as too large",
};

/** The first error of each row that the request has. */
export function errorsByRow(errors: readonly RowError[], rowCount: number): ReadonlyMap<number, RowError> {
  const byRow = new Map<number, RowError>();
  for (const error of errors) {
    if (error.index < rowCount && !byRow.has(error.index)) byRow.set(error.index, error);
  }
  return byRow;
}

/** Where BigQuery's messages name a column: "… on field a.b.", "Field a: …", "column: a". */
const naming = /\b(?:field|column)(?:\s+name)?:?\s+["'`]?([^\s"'`:,;()]+)/giu;

/**
 * The path of the column that a message of BigQuery names, as the table spells it; empty when it names none.
 * Only names of the table come through: the message may quote the value.
 */
export function columnNamedIn(message: string, table: TableSchema): string {
  let path = "";
  for (const [, name] of message.matchAll(naming)) path = tablePath(name!.replace(/\.+$/, ""), table) || path;
  return path;
}

function tablePath(name: string, table: TableSchema): string {
  const path: string[] = [];
  let columns: readonly Column[] = table.columns;
  for (const part of name.replace(/^root\./, "").split(".")) {
    const [, column, index] = /^(.+?)((?:\[\d+\])*)$/u.exec(part) ?? [];
    const found = columns.find((candidate) => candidate.name.toLowerCase() === column?.toLowerCase());
    if (!found) return "";
    path.push(found.name + (index ?? ""));
    columns = found.fields;
  }
  return path.join(".");
}
