/** From the text of a configuration file to a checked configuration, or to a report of every fault in it. */
import { configSchema, type PipelineConfig, pipelineSchema, type ServiceConfig } from "./config.ts";
import { SetupError } from "./errors.ts";
import { checkText, type Settings, withoutNulls } from "./options/checked-file.ts";
import { parseEndpoint } from "./lib/endpoint-address.ts";
import type { Endpoint } from "./lib/endpoint.ts";
import type { Environment } from "./options/environment.ts";
import { FaultReport, type FileFault, schemaFaults } from "./options/fault-report.ts";
import { readText } from "./lib/read-file.ts";
import { plainValue } from "./options/yaml-file.ts";
import type { MappingOptions } from "./mapping/mapping-plan.ts";
import type { EndpointTexts } from "./outside-options.ts";

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

/**
 * Reads and checks a configuration file. Nothing else is touched.
 *
 * @throws FaultReport with every fault of the file; SetupError when it cannot be read
 */
export function loadConfig(file: string, environment: Environment): Config {
  return parseConfig(readText(file), environment, file);
}

/**
 * Checks the text of a configuration.
 *
 * @param source what the report calls the text, such as its file name
 * @param edit changes the values before they are checked
 * @throws FaultReport with every fault
 */
export function parseConfig(
  text: string,
  environment: Environment,
  source: string,
  edit?: (value: Settings) => void,
): Config {
  const { data, faults } = checkText(text, configSchema, environment, edit);
  const { endpoints, faults: environmentFaults } = chooseEndpoints(data?.endpoints ?? { insecure: false }, environment);
  if (!data || environmentFaults.length > 0) throw new FaultReport(source, [...faults, ...environmentFaults]);
  return { ...data, endpoints, warnings: [...mixtureOf(endpoints), ...warningsOf(data.pipelines)] };
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
 * @throws FaultReport with every fault; SetupError when the choice is not one pipeline
 */
export function loadPipeline(
  file: string,
  environment: Environment,
  choice: PipelineChoice,
): { readonly config: Config; readonly pipeline: PipelineConfig } {
  let chosen = 0;
  const config = parseConfig(readText(file), environment, file, ({ pipelines }) => {
    if (!Array.isArray(pipelines)) return;
    chosen = choosePipeline(pipelines as readonly Settings[], choice.pipeline, file);
    for (const set of choice.sets ?? []) assign(pipelines[chosen] as Settings, set);
  });
  return { config, pipeline: config.pipelines[chosen]! };
}

/**
 * The options of a single pipeline, for commands that have no configuration file.
 *
 * @param base what the command's own flags say, in the form of the file; name, subscription and table are made up where it has none
 * @param sets as in `PipelineChoice`
 * @throws FaultReport with every fault
 */
export function pipelineFromSettings(base: Settings, sets: readonly string[]): PipelineConfig {
  const value: Settings = {
    name: "pipeline",
    subscription: "projects/project/subscriptions/subscription",
    ...base,
    bigquery: { table: "project.dataset.table", ...(base["bigquery"] as Settings | undefined) },
  };
  for (const set of sets) assign(value, set);
  const { data, error } = pipelineSchema.safeParse(withoutNulls(value));
  if (data) return data;
  const faults = schemaFaults(error, pipelineSchema).map(({ path, message }) => ({ path, message, place: undefined }));
  throw new FaultReport("The options of the pipeline", faults);
}

/**
 * The endpoints of calls that have no configuration file.
 *
 * @throws FaultReport when the environment names one that cannot be used
 */
export function environmentEndpoints(environment: Environment): Endpoints {
  const { endpoints, faults } = chooseEndpoints({ insecure: false }, environment);
  if (faults.length > 0) throw new FaultReport("The environment", faults);
  return endpoints;
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

function choosePipeline(pipelines: readonly Settings[], name: string | undefined, file: string): number {
  const names = pipelines.map((pipeline) => pipeline?.["name"]);
  const index = name === undefined && names.length === 1 ? 0 : names.indexOf(name);
  if (index >= 0) return index;
  const found = name === undefined ? "has several pipelines" : "has no pipeline of that name";
  throw new SetupError(`${file} ${found}: choose one of ${names.join(", ")} with --pipeline`);
}

/** Puts the value of `PATH=VALUE` at its path. The key below `bigquery.columns` may have dots of its own. */
function assign(settings: Settings, set: string): void {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(set) ?? [];
  if (path === undefined || value === undefined) {
    throw new SetupError("--set expects PATH=VALUE, such as bigquery.numericBytes=base64");
  }
  const column = /^(bigquery)\.(columns)\.(.+)\.([^.]+)$/.exec(path);
  const steps = column ? column.slice(1) : path.split(".");
  const last = steps.pop()!;
  let target = settings;
  for (const step of steps) {
    if (typeof target[step] !== "object" || target[step] === null) target[step] = {};
    target = target[step] as Settings;
  }
  const plain = plainValue(value);
  if (plain === null) delete target[last];
  else target[last] = plain;
}

function chooseEndpoints(
  texts: EndpointTexts,
  environment: Environment,
): { readonly endpoints: Endpoints; readonly faults: readonly FileFault[] } {
  const faults: FileFault[] = [];
  const choose = (text: string | undefined, variable: string, host: string): Endpoint => {
    const fallback: Endpoint = { host, port: 443, plaintext: false };
    const emulator = environment[variable];
    const chosen = text ?? (emulator === "" ? undefined : emulator);
    if (chosen === undefined) return fallback;
    const endpoint = parseEndpoint(chosen, { insecure: text === undefined || texts.insecure });
    if (typeof endpoint !== "string") return endpoint;
    // The file's own texts were checked with the rest of it.
    if (text === undefined) faults.push({ path: [variable], message: `(environment) ${endpoint}`, place: undefined });
    return fallback;
  };
  const endpoints = {
    pubsub: choose(texts.pubsub, "PUBSUB_EMULATOR_HOST", "pubsub.googleapis.com"),
    bigquery: choose(texts.bigquery, "BIGQUERY_EMULATOR_HOST", "bigquery.googleapis.com"),
    bigqueryStorage: choose(texts.bigqueryStorage, "BIGQUERY_STORAGE_EMULATOR_HOST", "bigquerystorage.googleapis.com"),
  };
  return { endpoints, faults };
}

/** Plaintext here and TLS there: most likely one of the emulators' variables was forgotten. */
function mixtureOf(endpoints: Endpoints): string[] {
  const named = (plaintext: boolean): string[] =>
    Object.entries(endpoints).flatMap(([name, endpoint]: [string, Endpoint]) =>
      endpoint.plaintext === plaintext ? [`${name} (${endpoint.host}:${endpoint.port})`] : [],
    );
  const [plain, encrypted] = [named(true), named(false)];
  if (plain.length === 0 || encrypted.length === 0) return [];
  return [
    `endpoints: plaintext to ${plain.join(" and ")}, but TLS to ${encrypted.join(" and ")}: are all three meant so?`,
  ];
}

function warningsOf(pipelines: readonly PipelineConfig[]): string[] {
  return pipelines.flatMap(({ name, subscription, bigquery, deadLetter, leases, dedupe }, i) => {
    const sharing = pipelines.slice(0, i).find((earlier) => earlier.subscription === subscription);
    const letGo = (["maxAckExtensionPeriod", "releaseAfter"] as const).filter((option) => leases[option] !== Infinity);
    const warnings = [
      bigquery.state !== undefined && "bigquery.state is ignored: a managed subscription reports it, nobody sets it",
      sharing && `the subscription is also that of ${sharing.name}: each message goes to one of the two only`,
      deadLetter.topic === undefined &&
        "there is no dead-letter topic: messages that cannot be written are given back again and again",
      ...(dedupe ? [] : letGo).map(
        (option) =>
          `leases.${option} lets messages go whose rows are still tried: without dedupe this process writes those that come back to it again`,
      ),
    ];
    return warnings.filter((warning) => typeof warning === "string").map((warning) => `pipeline ${name}: ${warning}`);
  });
}
