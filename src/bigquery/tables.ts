/** The table resource by REST (`tables.get`): the schema and primary key of a table. */
import { MillraceError, SetupError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { baseUrl, type Credentials, type Endpoint } from "../lib/endpoint.ts";
import type { TableReference } from "../schema/table-reference.ts";
import { parseTableSchema, type TableSchema } from "../schema/table-schema.ts";
import type { Trouble } from "./holds.ts";

export interface TablesOptions {
  readonly endpoint: Endpoint;
  /** Undefined for a plaintext endpoint. */
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
}

/** The schema of a table cannot be had. The message says why and what to do; `trouble` is the state that it means. */
export class TableUnavailable extends MillraceError {
  override readonly name: string = "TableUnavailable";
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.reason);
    this.trouble = trouble;
  }
}

const timeoutMs = 30_000;

/**
 * Reads the schema of a table.
 *
 * @throws TableUnavailable when there is no answer, or one without a schema that can be read
 */
export async function fetchTable(
  reference: TableReference,
  options: TablesOptions,
  signal: AbortSignal,
): Promise<TableSchema> {
  const url = tableUrl(reference, options.endpoint);
  const tooLate = new AbortController();
  const timer = options.clock.setTimer(() => tooLate.abort(), timeoutMs);
  const given = AbortSignal.any([signal, tooLate.signal]);
  try {
    const headers = await authorization(url, options, given);
    const response = await fetch(url, { headers, signal: given });
    const body = await response.text();
    if (response.ok) return readSchema(body);
    throw new TableUnavailable(troubleOf(response.status, body));
  } catch (error) {
    if (error instanceof TableUnavailable) throw error;
    throw new TableUnavailable({
      state: "UNAVAILABLE",
      reason: `the table's schema could not be fetched from ${options.endpoint.host}:${options.endpoint.port}: ${causeOf(error)}`,
    });
  } finally {
    timer.cancel();
  }
}

function tableUrl({ project, dataset, table }: TableReference, endpoint: Endpoint): string {
  const path = ["projects", project, "datasets", dataset, "tables", table].map(encodeURIComponent).join("/");
  return `${baseUrl(endpoint)}/bigquery/v2/${path}?selectedFields=schema,tableConstraints`;
}

async function authorization(
  url: string,
  { endpoint, credentials }: TablesOptions,
  signal: AbortSignal,
): Promise<Headers> {
  if (endpoint.plaintext || !credentials) return new Headers();
  const headers = credentials.getRequestHeaders(url).catch(() => {
    throw new TableUnavailable({
      state: "PERMISSION_DENIED",
      reason:
        "no access token could be had: check Application Default Credentials (`gcloud auth application-default login`, or GOOGLE_APPLICATION_CREDENTIALS)",
    });
  });
  // Nothing aborts the request for a token: nobody waits for it any longer, whatever becomes of it.
  headers.catch(() => undefined);
  return Promise.race([headers, rejectedBy(signal)]);
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = (): void => {
      const reason = "no access token came in time: check that the token service can be reached";
      reject(new TableUnavailable({ state: "UNAVAILABLE", reason }));
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
}

function readSchema(body: string): TableSchema {
  try {
    return parseTableSchema(JSON.parse(body));
  } catch (error) {
    const cause = error instanceof SetupError ? error.message : "the answer is not JSON";
    throw new TableUnavailable({ state: "SCHEMA_MISMATCH", reason: `the table's schema cannot be read: ${cause}` });
  }
}

/** Reasons of a 403 that are a matter of quota, not of permission. */
const quotaReason = /"reason"\s*:\s*"(?:rateLimitExceeded|quotaExceeded|userRateLimitExceeded)"/;

function troubleOf(httpStatus: number, body: string): Trouble {
  if (httpStatus === 429 || (httpStatus === 403 && quotaReason.test(body))) {
    return { state: "THROTTLED", reason: "a quota of the BigQuery API is used up: ask for more, or wait" };
  }
  switch (httpStatus) {
    case 401:
      return {
        state: "PERMISSION_DENIED",
        reason:
          "BigQuery does not accept the credentials: check Application Default Credentials and the service account",
      };
    case 403:
      return {
        state: "PERMISSION_DENIED",
        reason:
          "this account may not read the table's schema: grant it bigquery.tables.get, and bigquery.tables.updateData to write (role roles/bigquery.dataEditor has both), on the table or its dataset",
      };
    case 404:
      return {
        state: "NOT_FOUND",
        reason: "the table, its dataset or its project does not exist: create it, or mend `bigquery.table`",
      };
    default:
      return {
        state: "UNAVAILABLE",
        reason: `the table's schema could not be fetched: HTTP status ${httpStatus}`,
      };
  }
}

/** What kept an answer away, without anything of a payload: fetch names the system's error code in `cause`. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code;
  return cause instanceof Error ? cause.name : "unknown";
}
