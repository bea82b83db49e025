/** Pairs the fields of messages with the columns of a table, and decides what is done with each pair. */
import { SetupError, type Fault } from "../errors.ts";
import { foldName } from "../schema/column-rules.ts";
import { fieldKinds, type Convert, type FieldKind } from "../schema/field.ts";
import type { Column, TableSchema } from "../schema/table-schema.ts";
import { innerColumns } from "../schema/wire-type.ts";
import { ColumnOptionsByPath } from "./column-options.ts";
import { bindConversion } from "./compatibility.ts";
import type { ConversionOptions } from "./conversion-options.ts";
import { metadataFields, planMetadata, type MetadataColumn } from "./metadata-columns.ts";
import { planRawColumn } from "./raw-column.ts";

/** How one column is read. */
export interface ColumnOptions extends Pick<ConversionOptions, "timestampUnit" | "format"> {
  /** What becomes of an explicit null in a JSON column. */
  readonly jsonNull?: "null" | "keep";
}

/** Everything that decides how messages become rows, apart from the table itself. */
export interface MappingOptions extends Pick<ConversionOptions, "numericBytes" | "onPrecisionLoss"> {
  /** `table`: JSON by the table's schema; `raw`: the whole payload into the column `data`. */
  readonly mode: "table" | "raw";
  readonly dropUnknownFields: boolean;
  readonly writeMetadata: boolean;
  /** Full resource name; written to `subscription_name` with `writeMetadata`. */
  readonly subscription: string;
  readonly missingValues: "null" | "default";
  /** By path of the column, `a.b` when nested; compared without case. */
  readonly columns: Readonly<Record<string, ColumnOptions>>;
}

/** One column and how values of each kind are written to it. */
export interface ColumnPlan {
  readonly column: Column;
  /** Number of its field in the row, or in the message that it lies in. */
  readonly number: number;
  /** As the table spells it, `a.b` when nested. */
  readonly path: string;
  /** The columns inside: fields of a STRUCT, bounds of a RANGE. */
  readonly parts: readonly ColumnPlan[];
  /** By kind of value. A kind that is not here does not fit; STRUCT, RANGE and JSON columns have none, they take a reader. */
  readonly conversions: Conversions;
  /** Without a value the message is refused. */
  readonly required: boolean;
  /** An explicit null is written as JSON null. */
  readonly keepsNull: boolean;
  /** Its dates and times have a form of their own. */
  readonly hasFormat: boolean;
}

export type Conversions = { readonly [Kind in FieldKind]?: Convert };

export interface MappingPlan {
  readonly options: MappingOptions;
  /** Columns that fields of the payload go to, in the order of the table. */
  readonly fields: readonly ColumnPlan[];
  /** The column that takes the whole payload; only of mode `raw`. */
  readonly raw: ColumnPlan | undefined;
  /** Columns that are filled from the message's metadata. */
  readonly metadata: readonly MetadataColumn[];
}

/**
 * Decides how messages become rows of a table.
 *
 * @throws SetupError naming every reason why they cannot
 */
export function planMapping(table: TableSchema, options: MappingOptions): MappingPlan {
  const faults: string[] = [];
  const columnOptions = new ColumnOptionsByPath(options.columns);
  const planner = new ColumnPlanner(options, columnOptions, faults);
  const plans = table.columns.map((column, index) => planner.plan(column, index + 1, ""));
  const metadata = options.writeMetadata ? planMetadata(plans, options, faults) : [];
  const own = options.writeMetadata ? plans.filter((plan) => !metadataFields.has(foldName(plan.column.name))) : plans;
  const raw = options.mode === "raw" ? planRawColumn(own, faults) : undefined;
  faults.push(...columnOptions.unused());
  if (faults.length > 0) {
    throw new SetupError(`Messages cannot be mapped to the table:\n${faults.map((fault) => `- ${fault}`).join("\n")}`);
  }
  return { options, fields: options.mode === "table" ? own : [], raw, metadata };
}

/** BigQuery fills the column with its default when a row lacks it. */
export function takesDefault(column: Column, missingValues: "null" | "default"): boolean {
  return missingValues === "default" && column.hasDefault;
}

/** Plans columns and collects what is wrong with their options. */
class ColumnPlanner {
  readonly #options: MappingOptions;
  readonly #columnOptions: ColumnOptionsByPath;
  readonly #faults: string[];

  constructor(options: MappingOptions, columnOptions: ColumnOptionsByPath, faults: string[]) {
    this.#options = options;
    this.#columnOptions = columnOptions;
    this.#faults = faults;
  }

  plan(column: Column, number: number, parentPath: string): ColumnPlan {
    const path = parentPath === "" ? column.name : `${parentPath}.${column.name}`;
    const own = this.#columnOptions.take(path, column, this.#faults);
    const parts = innerColumns(column).map((part, index) =>
      column.type === "RANGE"
        ? this.#planColumn(part, index + 1, `${path}.${part.name}`, own, [])
        : this.plan(part, index + 1, path),
    );
    return this.#planColumn(column, number, path, own, parts);
  }

  #planColumn(
    column: Column,
    number: number,
    path: string,
    own: ColumnOptions,
    parts: readonly ColumnPlan[],
  ): ColumnPlan {
    return {
      column,
      number,
      path,
      parts,
      conversions: this.#conversions(column, path, own),
      required: column.mode === "REQUIRED" && !takesDefault(column, this.#options.missingValues),
      keepsNull: own.jsonNull === "keep",
      hasFormat: own.format !== undefined,
    };
  }

  #conversions(column: Column, path: string, own: ColumnOptions): Conversions {
    const { numericBytes, onPrecisionLoss } = this.#options;
    const { timestampUnit, format } = own;
    const options: ConversionOptions = {
      numericBytes,
      onPrecisionLoss,
      ...(timestampUnit !== undefined && { timestampUnit }),
      ...(format !== undefined && { format }),
    };
    const conversions: { [Kind in FieldKind]?: Convert } = {};
    try {
      for (const kind of fieldKinds) {
        const convert = bindConversion(kind, column, options);
        if (convert) conversions[kind] = convert;
      }
    } catch (error) {
      if (!(error instanceof SetupError)) throw error;
      this.#faults.push(`column ${path}: ${error.message}`);
    }
    return conversions;
  }
}

const kindNames: Readonly<Record<FieldKind, string>> = {
  "json text": "text",
  "json number": "a number",
  "json boolean": "a boolean",
  "json object": "an object",
  "json array": "an array",
};

/** The fault of a value whose kind does not fit its column. */
export function kindMismatch(kind: FieldKind, plan: ColumnPlan): Fault {
  return { code: "TYPE_MISMATCH", message: `${plan.column.type} takes ${kindsTaken(plan)}; got ${kindNames[kind]}` };
}

/** The fault of a REPEATED column whose value is no array. */
export function noArray(plan: ColumnPlan): Fault {
  return { code: "TYPE_MISMATCH", message: `a REPEATED column takes an array of ${plan.column.type}` };
}

function kindsTaken(plan: ColumnPlan): string {
  if (plan.column.type === "STRUCT") return "an object";
  if (plan.column.type === "RANGE") return "an object with start and end";
  const names = fieldKinds.filter((kind) => plan.conversions[kind]).map((kind) => kindNames[kind]);
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
