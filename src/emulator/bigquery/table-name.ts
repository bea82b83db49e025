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
export function textOfStream({ project, dataset, table, stream }: StreamName): string {
  return `projects/${project}/datasets/${dataset}/tables/${table}/streams/${stream}`;
}
