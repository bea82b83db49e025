/** What the arguments of `map` ask for: a table, and how messages become its rows. */
import { existsSync } from "node:fs";
import { MillraceError, SetupError } from "../errors.ts";
import { systemClock } from "../lib/clock.ts";
import type { Endpoint } from "../lib/endpoint.ts";
import { readText } from "../lib/read-file.ts";
import type { MappingOptions } from "../mapping/mapping-plan.ts";
import { dottedName, parseTableReference, type TableReference } from "../schema/table-reference.ts";
import { parseTableSchema, type TableSchema } from "../schema/table-schema.ts";

/** The flags that say which table, and how. */
export interface MappingFlags {
  readonly config?: string;
  readonly pipeline?: string;
  readonly table?: string;
  readonly useTableSchema?: boolean;
  readonly dropUnknownFields?: boolean;
  readonly writeMetadata?: boolean;
  readonly subscription?: string;
  /** `PATH=VALUE`, any option of the pipeline. */
  readonly set?: readonly string[];
}

export interface MappingRequest {
  readonly table: TableSchema;
  readonly options: MappingOptions;
  /** Largest append request, and so the largest row, in bytes. */
  readonly maxRequestBytes: number;
}

/** @throws MillraceError when the arguments contradict each other, are no options, or the table cannot be had */
export async function readMappingRequest(flags: MappingFlags): Promise<MappingRequest> {
  if (flags.config === undefined && flags.table === undefined) {
    throw new SetupError("a table is needed: --table FILE or PROJECT.DATASET.TABLE, or --config FILE");
  }
  if (flags.config === undefined && flags.pipeline !== undefined) {
    throw new SetupError("--pipeline chooses a pipeline of a configuration: --config is missing");
  }
  const settings = await readSettings(flags);
  const table = await readTable(flags.table, settings);
  return { table, options: settings.options, maxRequestBytes: settings.maxRequestBytes };
}

interface MappingSettings {
  readonly options: MappingOptions;
  readonly maxRequestBytes: number;
  /** The table of the configuration. */
  readonly table: TableReference | undefined;
  /** BigQuery's REST endpoint, when a configuration names it. */
  readonly endpoint: Endpoint | undefined;
}

/** The defaults of the configuration, for calls that name no option: reading the configuration's description takes a while. */
export const defaultSettings: MappingSettings = {
  options: {
    mode: "raw",
    dropUnknownFields: false,
    writeMetadata: false,
    subscription: "",
    numericBytes: "refuse",
    onPrecisionLoss: "reject",
    missingValues: "null",
    columns: {},
  },
  maxRequestBytes: 9 * 1024 * 1024,
  table: undefined,
  endpoint: undefined,
};

async function readSettings(flags: MappingFlags): Promise<MappingSettings> {
  const sets = [...flagSets(flags), ...(flags.set ?? [])];
  if (flags.config !== undefined) return readConfiguredSettings(flags.config, flags.pipeline, sets);
  if (flags.subscription === undefined && (flags.set ?? []).length === 0) return settingsOfFlags(flags);
  const { mappingOptionsOf, pipelineFromSettings } = await import("../config-file.ts");
  const pipeline = pipelineFromSettings({}, sets);
  const named = sets.some((set) => set.startsWith("subscription="));
  const options = mappingOptionsOf(pipeline);
  return {
    ...defaultSettings,
    options: named ? options : { ...options, subscription: "" },
    maxRequestBytes: pipeline.append.maxRequestBytes,
  };
}

async function readConfiguredSettings(
  file: string,
  name: string | undefined,
  sets: readonly string[],
): Promise<MappingSettings> {
  const { loadPipeline, mappingOptionsOf } = await import("../config-file.ts");
  const { config, pipeline } = loadPipeline(file, process.env, { pipeline: name, sets });
  return {
    options: mappingOptionsOf(pipeline),
    maxRequestBytes: pipeline.append.maxRequestBytes,
    table: pipeline.bigquery.table,
    endpoint: config.endpoints.bigquery,
  };
}

/** Flags as the options that they stand for. */
function flagSets(flags: MappingFlags): readonly string[] {
  return [
    ...(flags.useTableSchema ? ["bigquery.useTableSchema=true"] : []),
    ...(flags.dropUnknownFields ? ["bigquery.dropUnknownFields=true"] : []),
    ...(flags.writeMetadata ? ["bigquery.writeMetadata=true"] : []),
    ...(flags.subscription === undefined ? [] : [`subscription=${flags.subscription}`]),
  ];
}

function settingsOfFlags(flags: MappingFlags): MappingSettings {
  const options: MappingOptions = {
    ...defaultSettings.options,
    mode: flags.useTableSchema ? "table" : "raw",
    dropUnknownFields: flags.dropUnknownFields ?? false,
    writeMetadata: flags.writeMetadata ?? false,
  };
  return { ...defaultSettings, options };
}

async function readTable(table: string | undefined, settings: MappingSettings): Promise<TableSchema> {
  if (table !== undefined && existsSync(table)) return readTableFile(table);
  const reference = table === undefined ? settings.table! : referenceOf(table);
  return fetchSchema(reference, settings.endpoint);
}

function readTableFile(file: string): TableSchema {
  const text = readText(file);
  try {
    return parseTableSchema(JSON.parse(text));
  } catch (error) {
    if (error instanceof MillraceError) throw new SetupError(`${file}: ${error.message}`);
    if (error instanceof SyntaxError) throw new SetupError(`${file} is not JSON`);
    throw error;
  }
}

function referenceOf(table: string): TableReference {
  try {
    return parseTableReference(table);
  } catch {
    throw new SetupError(`--table: there is no file ${table}, and it is no table of the form PROJECT.DATASET.TABLE`);
  }
}

async function fetchSchema(reference: TableReference, configured: Endpoint | undefined): Promise<TableSchema> {
  const { fetchTable } = await import("../bigquery/tables.ts");
  const endpoint = configured ?? (await environmentEndpoint());
  const credentials = endpoint.plaintext ? undefined : await openCredentials();
  try {
    return await fetchTable(reference, { endpoint, credentials, clock: systemClock }, new AbortController().signal);
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    throw new SetupError(`${dottedName(reference)}: ${error.message}`);
  }
}

async function environmentEndpoint(): Promise<Endpoint> {
  const { environmentEndpoints } = await import("../config-file.ts");
  return environmentEndpoints(process.env).bigquery;
}

async function openCredentials() {
  const { GoogleAuth } = await import("google-auth-library");
  return new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/bigquery.readonly"] });
}
