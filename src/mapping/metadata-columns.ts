/** The columns that `writeMetadata` fills (BQ-META-02). */
import { foldName } from "../schema/column-rules.ts";
import type { ColumnType } from "../schema/table-schema.ts";
import { bindConversion } from "./compatibility.ts";
import type { ColumnPlan, MappingOptions } from "./mapping-plan.ts";
import type { Convert } from "../schema/field.ts";

/** A part of a message that is not its payload, by the name of its column. */
export type MetadataField = "subscription_name" | "message_id" | "publish_time" | "attributes";

export interface MetadataColumn {
  readonly field: MetadataField;
  readonly plan: ColumnPlan;
  /** Takes text, or the microseconds of `publish_time` in decimal digits. */
  readonly convert: Convert;
}

/** The types that each of the columns may have. */
export const metadataFields: ReadonlyMap<string, readonly ColumnType[]> = new Map<MetadataField, readonly ColumnType[]>(
  [
    ["subscription_name", ["STRING"]],
    ["message_id", ["STRING"]],
    ["publish_time", ["TIMESTAMP"]],
    ["attributes", ["STRING", "JSON"]],
  ],
);

/** Finds the four columns among those of the table; what is missing or of another type is added to `faults`. */
export function planMetadata(
  plans: readonly ColumnPlan[],
  options: MappingOptions,
  faults: string[],
): readonly MetadataColumn[] {
  if (options.subscription === "") {
    faults.push("writeMetadata needs the name of the subscription (projects/P/subscriptions/S)");
  }
  const found: MetadataColumn[] = [];
  for (const [name, types] of metadataFields) {
    const plan = plans.find(({ column }) => foldName(column.name) === name);
    const wanted = `writeMetadata needs a column ${name} of ${types.join(" or ")}`;
    if (!plan) faults.push(`${wanted}; the table has none`);
    else if (!types.includes(plan.column.type)) faults.push(`${wanted}; it is ${plan.column.type}`);
    else if (plan.column.mode === "REPEATED") faults.push(`${wanted}; it is REPEATED`);
    else found.push({ field: name as MetadataField, plan, convert: conversionOf(plan, options) });
  }
  return found;
}

/** Our own text and numbers: the column's options, which speak of payloads, do not count. A JSON column takes our text as it is. */
function conversionOf(plan: ColumnPlan, options: MappingOptions): Convert {
  const column = plan.column.type === "JSON" ? { ...plan.column, type: "STRING" as const } : plan.column;
  const kind = column.type === "TIMESTAMP" ? "json number" : "json text";
  return bindConversion(kind, column, { numericBytes: options.numericBytes, onPrecisionLoss: "reject" })!;
}
