import type { ColumnPlan, MappingPlan } from "../mapping/mapping-plan.ts";
import { fieldKinds } from "../schema/field.ts";
import { protoTypeOf } from "../schema/wire-type.ts";

/** A mapping plan as `map --print-transcoder` shows it: every column with its field in the row and the kinds of value that it takes. */
export function planView({ options, fields, raw, metadata }: MappingPlan): object {
  const { mode, dropUnknownFields, missingValues, onPrecisionLoss, numericBytes } = options;
  return {
    mode,
    dropUnknownFields,
    missingValues,
    onPrecisionLoss,
    numericBytes,
    ...(raw ? { payload: columnView(raw) } : { columns: fields.flatMap(columnsWithin).map(columnView) }),
    ...(metadata.length > 0 && { metadata: metadata.map(({ plan }) => columnView(plan)) }),
  };
}

function columnsWithin(plan: ColumnPlan): readonly ColumnPlan[] {
  return [plan, ...plan.parts.flatMap(columnsWithin)];
}

function columnView({ column, number, path, conversions, required }: ColumnPlan): object {
  const takes = fieldKinds.filter((kind) => conversions[kind]);
  return {
    path,
    field: number,
    type: column.type,
    mode: column.mode,
    wire: protoTypeOf(column),
    ...(takes.length > 0 && { takes }),
    ...(required && { required }),
  };
}
