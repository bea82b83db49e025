/** A plain REST client for any BigQuery server on loopback. */

/** A cell of `tabledata.list`: text, null, a list of cells, or a record. */
type Cell = { readonly v: unknown };
type RestRow = { readonly f: readonly Cell[] };
interface RestColumn {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly fields?: readonly RestColumn[];
}

export type Row = Readonly<Record<string, unknown>>;

export class BigQueryClient {
  readonly #url: string;

  /** @param url base URL of the server, without a slash at its end */
  constructor(url: string) {
    this.#url = `${url}/bigquery/v2`;
  }

  /** Creates the dataset when it is not there, and the table `project.dataset.table`. */
  async createTable(name: string, fields: readonly object[], more: object = {}): Promise<void> {
    const [projectId, datasetId, tableId] = name.split(".");
    const datasets = `projects/${projectId}/datasets`;
    // Not every emulator answers 409 for a dataset that is there already.
    if (!(await this.#exists(`${datasets}/${datasetId}`))) {
      await this.#call("POST", datasets, { datasetReference: { projectId, datasetId } });
    }
    const table = { tableReference: { projectId, datasetId, tableId }, schema: { fields }, ...more };
    await this.#call("POST", `${datasets}/${datasetId}/tables`, table);
  }

  async patchTable(name: string, fields: readonly object[]): Promise<void> {
    await this.#call("PATCH", tablePath(name), { schema: { fields } });
  }

  async deleteTable(name: string): Promise<void> {
    await this.#call("DELETE", tablePath(name));
  }

  /** Every row, as objects by column name; scalars are the text that BigQuery gives. */
  async rows(name: string): Promise<Row[]> {
    const { schema } = (await this.#call("GET", tablePath(name))) as { schema: { fields: RestColumn[] } };
    const rows: Row[] = [];
    let pageToken: string | undefined;
    do {
      const query = pageToken
        ? `?maxResults=20000&formatOptions.useInt64Timestamp=true&pageToken=${encodeURIComponent(pageToken)}`
        : "?maxResults=20000&formatOptions.useInt64Timestamp=true";
      const page = (await this.#call("GET", `${tablePath(name)}/data${query}`)) as {
        rows?: RestRow[];
        pageToken?: string;
      };
      for (const row of page.rows ?? []) rows.push(record(schema.fields, row));
      pageToken = page.pageToken;
    } while (pageToken);
    return rows;
  }

  async rowCount(name: string): Promise<number> {
    const { totalRows } = (await this.#call("GET", `${tablePath(name)}/data?maxResults=1`)) as { totalRows: string };
    return Number(totalRows);
  }

  async #exists(path: string): Promise<boolean> {
    const { status } = await fetch(`${this.#url}/${path}`);
    return status !== 404;
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#url}/${path}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) {
      throw new Error(`${method} ${path}: HTTP ${response.status}: ${text}`);
    }
    return text === "" ? {} : JSON.parse(text);
  }
}

function tablePath(name: string): string {
  const [project, dataset, table] = name.split(".");
  return `projects/${project}/datasets/${dataset}/tables/${table}`;
}

function record(columns: readonly RestColumn[], row: RestRow): Row {
  return Object.fromEntries(columns.map((column, i) => [column.name, value(column, row.f[i]!.v)]));
}

function value(column: RestColumn, cell: unknown): unknown {
  if (column.mode === "REPEATED") return (cell as Cell[]).map((item) => single(column, item.v));
  return single(column, cell);
}

function single(column: RestColumn, cell: unknown): unknown {
  return cell !== null && column.fields ? record(column.fields, cell as RestRow) : cell;
}
