/** From the text of a configuration file to a checked configuration, or to a report of every fault in it. */
import { readFileSync } from "node:fs";
import type { z } from "zod";
import { configSchema, type EndpointTexts, type PipelineConfig, pipelineSchema, type ServiceConfig } from "./config.ts";
import { SetupError } from "./errors.ts";
import { parseEndpoint } from "./lib/endpoint-address.ts";
import type { Endpoint } from "./lib/endpoint.ts";
import type { Environment } from "./lib/environment.ts";
import { listOptions } from "./lib/option-list.ts";
import { nearest } from "./lib/spelling.ts";
import { type Path, type Place, plainValue, readYaml } from "./lib/yaml-file.ts";
import type { MappingOptions } from "./mapping/mapping-plan.ts";

/** A checked configuration. */
export interface Config {
  readonly pipelines: readonly PipelineConfig[];
  readonly service: ServiceConfig;
  readonly endpoints: Endpoints;
  /** What is allowed, but probably not meant. */
  readonly warnings: readonly string[];
}

export interface Endpoints {
  readonly pubsub: Endpoint;
  readonly bigquery: Endpoint;
  readonly bigqueryStorage: Endpoint;
}

/** One thing that is wrong with a configuration. Never holds the value that stands there. */
export interface ConfigFault {
  /** Such as `pipelines[0].batch.maxDelay`; empty for the file as a whole. */
  readonly path: string;
  readonly message: string;
  readonly place: Place | undefined;
}

/** A configuration with faults: all of them, in the order of the file. */
export class ConfigError extends SetupError {
  override readonly name: string = "ConfigError";
  readonly faults: readonly ConfigFault[];

  constructor(source: string, faults: readonly ConfigFault[]) {
    super(report(source, faults));
    this.faults = faults;
  }
}

/**
 * Reads and checks a configuration file. Nothing else is touched.
 *
 * @throws ConfigError with every fault of the file
 */
export function loadConfig(file: string, environment: Environment): Config {
  return check(readText(file), environment, file);
}

/**
 * Checks the text of a configuration.
 *
 * @param source what the report calls the text, such as its file name
 * @throws ConfigError with every fault
 */
export function parseConfig(text: string, environment: Environment, source: string): Config {
  return check(text, environment, source);
}

export interface PipelineChoice {
  /** Needed when the file has several. */
  readonly pipeline?: string | undefined;
  /** `PATH=VALUE`, such as `bigquery.columns.at.timestampUnit=millis`: options that replace those of the file. */
  readonly sets?: readonly string[];
}

/**
 * One pipeline of a configuration file, for commands that look at a single one.
 *
 * @throws ConfigError with every fault; SetupError when the choice is not one pipeline
 */
export function loadPipeline(
  file: string,
  environment: Environment,
  choice: PipelineChoice,
): { readonly config: Config; readonly pipeline: PipelineConfig } {
  let chosen = 0;
  const config = check(readText(file), environment, file, (value) => {
    const pipelines = value["pipelines"];
    if (!Array.isArray(pipelines)) return;
    chosen = choosePipeline(pipelines, choice.pipeline, file);
    for (const set of choice.sets ?? []) assign(pipelines[chosen] as Settings, set);
  });
  return { config, pipeline: config.pipelines[chosen]! };
}

/**
 * The options of a single pipeline, for commands that have no configuration file.
 *
 * @param base what the command's own flags say, in the form of the file; name, subscription and table are made up where it has none
 * @param sets as in `PipelineChoice`
 * @throws ConfigError with every fault
 */
export function pipelineFromSettings(base: Settings, sets: readonly string[]): PipelineConfig {
  const value: Settings = {
    name: "pipeline",
    subscription: "projects/project/subscriptions/subscription",
    ...base,
    bigquery: { table: "project.dataset.table", ...(base["bigquery"] as Settings | undefined) },
  };
  for (const set of sets) assign(value, set);
  const checked = pipelineSchema.safeParse(withoutNulls(value));
  if (checked.data) return checked.data;
  const faults = faultsOf(checked.error, pipelineSchema);
  throw new ConfigError(
    "The options of the pipeline",
    faults.map(({ path, message }) => ({ path: pathText(path), message, place: undefined })),
  );
}

/** What decides how messages become rows, of a pipeline. */
export function mappingOptionsOf({ subscription, bigquery }: PipelineConfig): MappingOptions {
  return {
    mode: bigquery.useTableSchema ? "table" : "raw",
    subscription,
    dropUnknownFields: bigquery.dropUnknownFields,
    writeMetadata: bigquery.writeMetadata,
    numericBytes: bigquery.numericBytes,
    onPrecisionLoss: bigquery.onPrecisionLoss,
    missingValues: bigquery.missingValues,
    columns: bigquery.columns,
  };
}

/** A map of a configuration before it is checked. */
type Settings = Record<string, unknown>;

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new SetupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`);
  }
}

function check(text: string, environment: Environment, source: string, edit?: (value: Settings) => void): Config {
  const file = readYaml(text, environment);
  const faults: ConfigFault[] = file.faults.map(({ path, message, place }) => ({
    path: pathText(path),
    message,
    place,
  }));
  const value = (withoutNulls(file.value) ?? {}) as Settings;
  if (faults.length === 0) edit?.(value);
  const checked = configSchema.safeParse(value);
  const { endpoints, faults: environmentFaults } = chooseEndpoints(
    checked.data?.endpoints ?? { insecure: false },
    environment,
  );
  // What could not be read has its fault already.
  const reported = new Set(faults.map(({ path }) => path));
  if (checked.error && file.value !== undefined) {
    for (const { path, message } of faultsOf(checked.error, configSchema)) {
      if (!reported.has(pathText(path))) faults.push({ path: pathText(path), message, place: file.placeOf(path) });
    }
  }
  faults.push(...environmentFaults);
  if (faults.length > 0 || !checked.data) throw new ConfigError(source, faults.sort(byPlace));
  return { ...checked.data, endpoints, warnings: warningsOf(checked.data.pipelines) };
}

/** Options that are null are options that are not set. The text `null` is YAML's null, however it is written. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item));
  if (typeof value !== "object" || value === null) return value === "null" ? null : value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutNulls(item)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== null));
}

function choosePipeline(pipelines: readonly unknown[], name: string | undefined, file: string): number {
  const names = pipelines.map((pipeline) => String((pipeline as Settings | null)?.["name"]));
  const index = name === undefined && names.length === 1 ? 0 : names.indexOf(name ?? "");
  if (index >= 0) return index;
  throw new SetupError(
    `${name === undefined ? `${file} has several pipelines` : `${file} has no pipeline ${name}`}: choose one of ${names.join(", ")} with --pipeline`,
  );
}

/** Puts the value of `PATH=VALUE` at its path. The key below `bigquery.columns` may have dots of its own. */
function assign(settings: Settings, set: string): void {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(set) ?? [];
  if (path === undefined || value === undefined)
    throw new SetupError("--set expects PATH=VALUE, such as bigquery.numericBytes=base64");
  const column = /^(bigquery)\.(columns)\.(.+)\.([^.]+)$/.exec(path);
  const steps = column ? column.slice(1) : path.split(".");
  const last = steps.pop()!;
  let target = settings;
  for (const step of steps) {
    if (typeof target[step] !== "object" || target[step] === null) target[step] = {};
    target = target[step] as Settings;
  }
  target[last] = plainValue(value);
}

interface SchemaFault {
  readonly path: Path;
  readonly message: string;
}

function faultsOf(error: z.ZodError, schema: z.ZodType): SchemaFault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path as Path;
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: [...path, key], message: `is unknown${hint(path, key, schema)}` }));
  });
}

/** What may have been meant by an unknown key. */
function hint(parent: Path, key: string, schema: z.ZodType): string {
  const within = parent.map((step, i) =>
    typeof step === "number" ? "[]" : parent[i - 1] === "columns" ? "PATH" : step,
  );
  const options = listOptions(schema).map(({ path }) => path);
  const here = options
    .filter((path) => within.every((step, i) => path[i] === step))
    .map((path) => path[within.length]!);
  const meant = nearest(key, here);
  if (meant !== undefined) return `; did you mean ${meant}?`;
  const elsewhere = options.find((path) => path.at(-1) === key);
  return elsewhere ? ` here; it belongs under ${pathText(elsewhere.slice(0, -1))}` : "";
}

function chooseEndpoints(
  texts: EndpointTexts,
  environment: Environment,
): { readonly endpoints: Endpoints; readonly faults: readonly ConfigFault[] } {
  const faults: ConfigFault[] = [];
  const choose = (text: string | undefined, variable: string, host: string): Endpoint => {
    const fallback: Endpoint = { host, port: 443, plaintext: false };
    const emulator = environment[variable];
    const chosen = text ?? (emulator === "" ? undefined : emulator);
    if (chosen === undefined) return fallback;
    const endpoint = parseEndpoint(chosen, { insecure: text === undefined || texts.insecure });
    if (typeof endpoint !== "string") return endpoint;
    // The file's own texts were checked with the rest of it.
    if (text === undefined) faults.push({ path: variable, message: `(environment) ${endpoint}`, place: undefined });
    return fallback;
  };
  const endpoints = {
    pubsub: choose(texts.pubsub, "PUBSUB_EMULATOR_HOST", "pubsub.googleapis.com"),
    bigquery: choose(texts.bigquery, "BIGQUERY_EMULATOR_HOST", "bigquery.googleapis.com"),
    bigqueryStorage: choose(texts.bigqueryStorage, "BIGQUERY_STORAGE_EMULATOR_HOST", "bigquerystorage.googleapis.com"),
  };
  return { endpoints, faults };
}

function warningsOf(pipelines: readonly PipelineConfig[]): string[] {
  return pipelines.flatMap(({ name, subscription, bigquery, deadLetter }, i) => {
    const warnings: string[] = [];
    if (bigquery.state !== undefined) {
      warnings.push(
        `pipeline ${name}: bigquery.state is ignored: it is what a managed subscription reports, no setting`,
      );
    }
    const other = pipelines.slice(0, i).find((earlier) => earlier.subscription === subscription);
    if (other)
      warnings.push(
        `pipeline ${name} shares its subscription with ${other.name}: each message goes to one of them only`,
      );
    if (deadLetter.topic === undefined) {
      warnings.push(
        `pipeline ${name} has no dead-letter topic: messages that cannot be written are given back again and again`,
      );
    }
    return warnings;
  });
}

/** `pipelines[0].batch.maxDelay` */
function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === "number" ? `[${step}]` : step === "[]" ? step : i === 0 ? step : `.${step}`))
    .join("");
}

function byPlace(a: ConfigFault, b: ConfigFault): number {
  const line = (fault: ConfigFault): number => fault.place?.line ?? Infinity;
  const column = (fault: ConfigFault): number => fault.place?.column ?? Infinity;
  return line(a) - line(b) || column(a) - column(b) || 0;
}

function report(source: string, faults: readonly ConfigFault[]): string {
  const places = faults.map(({ place }) => (place ? `${place.line}:${place.column}` : ""));
  const width = Math.max(...places.map((place) => place.length));
  const pathWidth = Math.max(...faults.map(({ path }) => path.length));
  const lines = faults.map(({ path, message }, i) =>
    `  ${places[i]!.padEnd(width)}  ${path.padEnd(pathWidth)}  ${message}`.trimEnd(),
  );
  return [`${source}: ${faults.length === 1 ? "1 fault" : `${faults.length} faults`}`, ...lines].join("\n");
}
