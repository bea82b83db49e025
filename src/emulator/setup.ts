/** What the embedded servers hold when they start: topics, subscriptions, tables and messages, from a file of their own. */
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { SetupError } from "../errors.ts";
import { readChecked } from "../options/checked-file.ts";
import type { Environment } from "../options/environment.ts";
import { duration, expected, map, size, text } from "../options/option.ts";
import { readBytes, readText } from "../lib/read-file.ts";
import { ApiError } from "./bigquery/api-error.ts";
import type { BigQueryEmulator, BigQueryEmulatorOptions } from "./bigquery/bigquery-emulator.ts";
import type { PubSubEmulator } from "./pubsub/pubsub-emulator.ts";
import { RpcError } from "./rpc-error.ts";

export interface Setup {
  readonly bigquery?: Pick<BigQueryEmulatorOptions, "schemaDelayMs" | "recreationDelayMs" | "maxRequestBytes">;
  readonly topics: readonly string[];
  readonly subscriptions: readonly { readonly name: string; readonly topic: string }[];
  /** `resource`: the body of BigQuery's `tables.insert`, but for the table's name. */
  readonly tables: readonly { readonly name: string; readonly resource: object }[];
  readonly messages: readonly { readonly topic: string; readonly payloads: readonly Buffer[] }[];
}

const topic = text(/^projects\/[^/]+\/topics\/[^/]+$/, "projects/P/topics/T", "");
const subscription = text(/^projects\/[^/]+\/subscriptions\/[^/]+$/, "projects/P/subscriptions/S", "");
const table = text(/^[^.]+\.[^.]+\.[^.]+$/, "PROJECT.DATASET.TABLE", "");
const file = text(/./, "a file name, relative to this file", "");

const delay = { min: "0s", max: "1h" };

/** The form of a setup file (`millrace emulator --setup FILE`). */
const setupFile = map({
  bigquery: map({
    schemaDelay: duration("0s", delay, "Until rows go by a changed schema"),
    recreationDelay: duration("0s", delay, "Until rows find a table that has the name of a deleted one"),
    maxRequestSize: size("10MiB", { min: "1KiB", max: "20MiB" }, "The largest AppendRowsRequest"),
  }).prefault({}),
  topics: z.array(topic, expected("a list of topics")).prefault([]),
  /** Subscription → topic. */
  subscriptions: z.record(subscription, topic, expected("a map of subscriptions")).prefault({}),
  /** Table → JSON file: the fields array of `bq show --schema`, or a table resource. */
  tables: z.record(table, file, expected("a map of tables")).prefault({}),
  /** Topic → file of payloads, one a line. */
  payloads: z.record(topic, file, expected("a map of topics")).prefault({}),
});

/**
 * Reads a setup file and the files that it names.
 *
 * @throws FaultReport with every fault of the file; SetupError when a file cannot be read
 */
export function loadSetup(path: string, environment: Environment): Setup {
  const { bigquery, topics, subscriptions, tables, payloads } = readChecked(path, setupFile, environment);
  const beside = (name: string): string => resolve(dirname(path), name);
  return {
    bigquery: {
      schemaDelayMs: bigquery.schemaDelay,
      recreationDelayMs: bigquery.recreationDelay,
      maxRequestBytes: bigquery.maxRequestSize,
    },
    topics,
    subscriptions: Object.entries(subscriptions).map(([name, topic]) => ({ name, topic })),
    tables: Object.entries(tables).map(([name, file]) => ({ name, resource: readTable(beside(file)) })),
    messages: Object.entries(payloads).map(([topic, file]) => ({ topic, payloads: readLines(beside(file)) })),
  };
}

/**
 * Reads a table's schema, in either JSON form, as a table resource.
 *
 * @throws SetupError when the file cannot be read or is neither
 */
export function readTable(path: string): object {
  const text = readText(path);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new SetupError(`${path} is not JSON: expected the fields array of \`bq show --schema\`, or a table resource`);
  }
  if (Array.isArray(json)) return { schema: { fields: json } };
  if (typeof json === "object" && json !== null) return json;
  throw new SetupError(`${path} is neither a fields array nor a table resource`);
}

/** Bytes, not text: a payload that is not UTF-8 stays as it is. */
function readLines(path: string): Buffer[] {
  const bytes = readBytes(path);
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length;) {
    const newline = bytes.indexOf(10, start);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

/**
 * Brings a setup about. A table that is there already, in a data file, is kept as it is.
 *
 * @throws SetupError when a server refuses a part of it
 */
export function applySetup(setup: Setup, pubsub: PubSubEmulator, bigquery: BigQueryEmulator): void {
  try {
    for (const name of setup.topics) pubsub.createTopic(name);
    for (const each of setup.subscriptions) pubsub.createSubscription(each);
    for (const { name, resource } of setup.tables) createTable(bigquery, name, resource);
    for (const { topic, payloads } of setup.messages) {
      pubsub.publish(
        topic,
        payloads.map((data) => ({ data })),
      );
    }
  } catch (error) {
    if (!(error instanceof RpcError || error instanceof ApiError)) throw error;
    throw new SetupError(`The embedded servers refuse the setup: ${error.message}`);
  }
}

function createTable(bigquery: BigQueryEmulator, name: string, resource: object): void {
  try {
    bigquery.createTable(name, resource);
  } catch (error) {
    const alreadyThere = 409;
    if (!(error instanceof ApiError && error.status === alreadyThere)) throw error;
  }
}
