/** A YAML (or JSON) file against the zod schema that describes it. */
import type { z } from "zod";
import type { Environment } from "./environment.ts";
import { FaultReport, type FileFault, pathText, schemaFaults } from "./fault-report.ts";
import { readText } from "../lib/read-file.ts";
import { readYaml } from "./yaml-file.ts";

/** What a checked text holds, and its faults. */
export interface Checked<T> {
  /** Undefined when there are faults. */
  readonly data: T | undefined;
  readonly faults: readonly FileFault[];
}

/**
 * Checks the text of a file against its description.
 *
 * @param edit changes the values before they are checked; it is not called when the text cannot be read
 */
export function checkText<T extends z.ZodType>(
  text: string,
  schema: T,
  environment: Environment,
  edit: (value: Settings) => void = () => undefined,
): Checked<z.output<T>> {
  const file = readYaml(text, environment);
  if (file.value === undefined) return { data: undefined, faults: file.faults };
  const value = withoutNulls(file.value) ?? {};
  if (file.faults.length === 0) edit(value as Settings);
  const { data, error } = schema.safeParse(value);
  // A value whose references could not be filled in has its fault already.
  const reported = new Set(file.faults.map(({ path }) => pathText(path)));
  const found = error ? schemaFaults(error, schema).filter(({ path }) => !reported.has(pathText(path))) : [];
  const faults = [...file.faults, ...found.map(({ path, message }) => ({ path, message, place: file.placeOf(path) }))];
  return { data: faults.length === 0 ? data : undefined, faults };
}

/**
 * Reads a file and checks it against its description.
 *
 * @throws FaultReport with every fault; SetupError when the file cannot be read
 */
export function readChecked<T extends z.ZodType>(file: string, schema: T, environment: Environment): z.output<T> {
  const { data, faults } = checkText(readText(file), schema, environment);
  if (data === undefined) throw new FaultReport(file, faults);
  return data;
}

/** A map of options before it is checked. */
export type Settings = Record<string, unknown>;

/** Options that are null are options that are not set. The text `null` is YAML's null, however it is written. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item));
  if (typeof value !== "object" || value === null) return value === "null" ? null : value;
  const entries = Object.entries(value).map(([key, item]) => [key, withoutNulls(item)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== null));
}
