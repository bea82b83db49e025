/** Names of tables, as the REST paths, the stream names, and the messages of both spell them. */

export interface TableName {
  readonly project: string;
  readonly dataset: string;
  readonly table: string;
}

/** `p:d.t`, BigQuery's way to name a table to people. */
export function textOfTable({ project, dataset, table }: TableName): string {
  return `${project}:${dataset}.${table}`;
}

const dotted = /^([^.]+)\.([^.]+)\.([^.]+)$/;

/** @throws Error unless the text has the form PROJECT.DATASET.TABLE */
export function parseTableName(text: string): TableName {
  const [, project, dataset, table] = dotted.exec(text) ?? [];
  if (!project || !dataset || !table) throw new Error(`Expected PROJECT.DATASET.TABLE, got ${text}`);
  return { project, dataset, table };
}

const pathForm = /^projects\/([^/]+)\/datasets\/([^/]+)\/tables\/([^/]+)$/;

/** Undefined when the text is no resource name of a table. */
export function parseTablePath(text: string): TableName | undefined {
  const [, project, dataset, table] = pathForm.exec(text) ?? [];
  return project && dataset && table ? { project, dataset, table } : undefined;
}

/** The resource name of a table, as the Storage Write API has it. */
export function tablePath({ project, dataset, table }: TableName): string {
  return `projects/${project}/datasets/${dataset}/tables/${table}`;
}

export const defaultStreamId = "_default";

export interface StreamName extends TableName {
  /** `_default`, or the id of a stream that an application created. */
  readonly stream: string;
}

const streamForm = /^projects\/([^/]+)\/datasets\/([^/]+)\/tables\/([^/]+)\/(?:streams\/([^/]+)|(_default))$/;

/** Both spellings of a default stream are understood; undefined when the text is no stream name. */
export function parseStreamName(text: string): StreamName | undefined {
  const [, project, dataset, table, id, short] = streamForm.exec(text) ?? [];
  const stream = id ?? short;
  return project && dataset && table && stream ? { project, dataset, table, stream } : undefined;
}

/** The full name of a stream, as the service's answers have it. */
export function textOfStream(name: StreamName): string {
  return `${tablePath(name)}/streams/${name.stream}`;
}
