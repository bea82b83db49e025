/** The name of a BigQuery table. */
import { SetupError } from "../errors.ts";

export interface TableReference {
  /** A project ID; old ones have a domain in front, `example.com:project`. */
  readonly project: string;
  readonly dataset: string;
  readonly table: string;
}

const project = "(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]*";
const dataset = "[A-Za-z0-9_]{1,1024}";
/** Unicode letters, marks, numbers, connectors, dashes and spaces. */
const table = String.raw`[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]{1,1024}`;

const forms = [
  new RegExp(`^(${project})[.:](${dataset})\\.(${table})$`, "u"),
  new RegExp(`^projects/(${project})/datasets/(${dataset})/tables/(${table})$`, "u"),
];

/**
 * Reads `P.D.T`, `P:D.T` or `projects/P/datasets/D/tables/T`.
 *
 * @throws SetupError when the text has none of these forms
 */
export function parseTableReference(text: string): TableReference {
  for (const form of forms) {
    const match = form.exec(text);
    if (match) return { project: match[1]!, dataset: match[2]!, table: match[3]! };
  }
  throw new SetupError(
    `"${text}" is no table: expected PROJECT.DATASET.TABLE, PROJECT:DATASET.TABLE or projects/PROJECT/datasets/DATASET/tables/TABLE`,
  );
}

/** As people write it. */
export function dottedName({ project, dataset, table }: TableReference): string {
  return `${project}.${dataset}.${table}`;
}

/** The resource name, as the Storage Write API spells it. */
export function tableName(reference: TableReference): string {
  return `projects/${reference.project}/datasets/${reference.dataset}/tables/${reference.table}`;
}
