/** REST: queries, as `jobs.query` answers at once and `jobs.insert` with `getQueryResults` in two steps. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { invalid, notFound } from "./api-error.ts";
import { fieldJson } from "./column-json.ts";
import { pageOf } from "./paging.ts";
import type { QueryEngine } from "./query-engine.ts";
import type { QueryParameter } from "./query-parameters.ts";
import type { QueryResult } from "./query-result.ts";
import { restRow, timestampFormat } from "./rest-rows.ts";
import type { RestRequest, Route } from "./rest-server.ts";
import type { JsonObject } from "./stored-table.ts";

/** A query that was answered; one that was refused is no job. */
interface Job {
  readonly project: string;
  readonly id: string;
  readonly sql: string;
  readonly result: QueryResult;
  readonly startMs: number;
  readonly endMs: number;
}

/** Results are kept for that many queries, so that their pages can be read. */
const maxJobs = 100;
const maxRows = 10_000;

export function queryRoutes(engine: QueryEngine, clock: Clock): readonly Route[] {
  const jobs = new Jobs(engine, clock);
  const project = "/projects/:project";
  return [
    { name: "jobs.query", method: "POST", path: `${project}/queries`, handle: (request) => query(jobs, request) },
    { name: "jobs.insert", method: "POST", path: `${project}/jobs`, handle: (request) => insert(jobs, request) },
    { name: "jobs.get", method: "GET", path: `${project}/jobs/:job`, handle: ({ path }) => resource(jobs.get(path)) },
    {
      name: "jobs.getQueryResults",
      method: "GET",
      path: `${project}/queries/:job`,
      handle: ({ path, query }) => resultsOf(jobs.get(path), query),
    },
  ];
}

class Jobs {
  readonly #engine: QueryEngine;
  readonly #clock: Clock;
  readonly #jobs = new Map<string, Job>();

  constructor(engine: QueryEngine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** @throws ApiError 404 */
  get(path: RestRequest["path"]): Job {
    const job = this.#jobs.get(`${path["project"]}/${path["job"]}`);
    if (!job) throw notFound(`Job ${path["project"]}:${path["job"]}`);
    return job;
  }

  /**
   * @param request of jobs.query, or the `configuration.query` of a job
   * @throws ApiError when the query is refused
   */
  async run(project: string, id: string, request: JsonObject): Promise<Job> {
    const { query, useLegacySql, queryParameters, defaultDataset } = request;
    if (typeof query !== "string" || query.trim() === "") throw invalid("Required parameter is missing: query");
    if (useLegacySql === true) throw invalid("The embedded BigQuery knows no legacy SQL: set useLegacySql to false");
    const startMs = Math.floor(this.#clock.now());
    const result = await this.#engine.run({
      sql: query,
      project,
      defaultDataset: datasetOf(project, defaultDataset),
      parameters: (queryParameters ?? []) as readonly QueryParameter[],
    });
    return this.#keep({ project, id, sql: query, result, startMs, endMs: Math.floor(this.#clock.now()) });
  }

  #keep(job: Job): Job {
    this.#jobs.set(`${job.project}/${job.id}`, job);
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > maxJobs && oldest !== undefined) this.#jobs.delete(oldest);
    return job;
  }
}

function datasetOf(project: string, reference: unknown): { project: string; dataset: string } | undefined {
  const { datasetId, projectId } = (reference ?? {}) as { datasetId?: string; projectId?: string };
  return datasetId === undefined ? undefined : { project: projectId ?? project, dataset: datasetId };
}

/** What the body of jobs.query says of its answer; the same that getQueryResults takes from the URL. */
interface QueryForm {
  readonly maxResults?: number;
  readonly formatOptions?: Readonly<Record<string, boolean | string>>;
  readonly dryRun?: boolean;
}

async function query(jobs: Jobs, { path, body }: RestRequest): Promise<object> {
  const job = await jobs.run(path["project"]!, `job_${randomUUID()}`, body);
  const { maxResults, formatOptions, dryRun } = body as QueryForm;
  const page = new URLSearchParams();
  if (maxResults != null) page.set("maxResults", String(maxResults));
  if (dryRun) page.set("maxResults", "0");
  for (const [name, value] of Object.entries(formatOptions ?? {})) page.set(`formatOptions.${name}`, String(value));
  return { ...resultsOf(job, page), kind: "bigquery#queryResponse" };
}

async function insert(jobs: Jobs, { path, body }: RestRequest): Promise<object> {
  const { query, dryRun } = (body["configuration"] ?? {}) as { query?: JsonObject; dryRun?: boolean };
  if (!query) throw invalid("The embedded BigQuery runs query jobs only");
  const { jobId } = (body["jobReference"] ?? {}) as { jobId?: string };
  const job = await jobs.run(path["project"]!, jobId ?? `job_${randomUUID()}`, query);
  return dryRun ? { ...resource(job), statistics: { query: { schema: schemaOf(job.result) } } } : resource(job);
}

function resource({ project, id, sql, startMs, endMs }: Job): object {
  return {
    kind: "bigquery#job",
    id: `${project}:US.${id}`,
    jobReference: { projectId: project, jobId: id, location: "US" },
    configuration: { jobType: "QUERY", query: { query: sql, useLegacySql: false } },
    status: { state: "DONE" },
    statistics: {
      creationTime: String(startMs),
      startTime: String(startMs),
      endTime: String(endMs),
      query: { statementType: "SELECT", totalBytesProcessed: "0" },
    },
  };
}

function schemaOf({ columns }: QueryResult): object {
  return { fields: columns.map(fieldJson) };
}

function resultsOf({ project, id, result }: Job, query: URLSearchParams): object {
  const { from, to, nextToken } = pageOf(query, result.rows.length, maxRows);
  const format = timestampFormat(
    query.get("formatOptions.useInt64Timestamp"),
    query.get("formatOptions.timestampOutputFormat") ?? undefined,
  );
  return {
    kind: "bigquery#getQueryResultsResponse",
    schema: schemaOf(result),
    jobReference: { projectId: project, jobId: id, location: "US" },
    totalRows: String(result.rows.length),
    rows: result.rows.slice(from, to).map((cells) => restRow(result.columns, cells, format)),
    ...(nextToken === undefined ? {} : { pageToken: nextToken }),
    totalBytesProcessed: "0",
    jobComplete: true,
    cacheHit: false,
  };
}
