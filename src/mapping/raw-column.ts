/** The column that takes the whole payload when neither a topic schema nor the table's schema is used (BQ-NS-01). */
import { foldName } from "../schema/column-rules.ts";
import type { ColumnPlan } from "./mapping-plan.ts";

const wanted = "without useTableSchema the payload goes to a column data of BYTES, STRING or JSON";

/**
 * Finds the column `data`; what keeps it or another column from being filled is added to `faults`.
 *
 * @param plans the columns of the table that are not filled with metadata
 */
export function planRawColumn(plans: readonly ColumnPlan[], faults: string[]): ColumnPlan | undefined {
  const isData = ({ column }: ColumnPlan): boolean => foldName(column.name) === "data";
  const data = plans.find(isData);
  if (!data) {
    faults.push(`${wanted}; the table has none. With useTableSchema its fields go to the columns of their names`);
    return undefined;
  }
  const { type, mode } = data.column;
  if (type !== "BYTES" && type !== "STRING" && type !== "JSON") faults.push(`${wanted}; it is ${type}`);
  if (mode === "REPEATED") faults.push(`${wanted}; it is REPEATED`);
  for (const { required, path } of plans.filter((plan) => !isData(plan))) {
    if (required) faults.push(`column ${path} is REQUIRED, and nothing fills it when the payload goes to data`);
  }
  return data;
}
