import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";

/** Table-schema mode, everything else as a configuration file gives it that says nothing. */
export const tableMode: MappingOptions = {
  mode: "table",
  dropUnknownFields: false,
  writeMetadata: false,
  subscription: "",
  numericBytes: "refuse",
  onPrecisionLoss: "reject",
  missingValues: "null",
  columns: {},
};
