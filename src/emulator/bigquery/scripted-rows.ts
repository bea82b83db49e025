/** The rows that a fault script refuses: by index, or by what stands in them. */
import type { Fault } from "../faults.ts";
import type { RowProblem } from "./append-connection.ts";
import { visitRows } from "./proto-rows.ts";

/** @param protoRows the rows of the request @throws InvalidValue when the bytes are no ProtoRows */
export function scriptedProblems(fault: Fault | undefined, protoRows: Buffer): readonly RowProblem[] {
  const { rowErrors = [], rowErrorsContaining } = fault ?? {};
  if (!rowErrorsContaining) return rowErrors;
  const { message } = rowErrorsContaining;
  const needle = Buffer.from(rowErrorsContaining.bytes, "hex");
  const found: RowProblem[] = [...rowErrors];
  let index = 0;
  visitRows(protoRows, (start, end) => {
    if (protoRows.subarray(start, end).includes(needle)) found.push({ index, message });
    index++;
  });
  return found;
}
