import { loadConfig } from "../config-file.ts";

/**
 * Reads a configuration file and says that it is good, and what in it may not be meant.
 *
 * @throws FaultReport with every fault
 */
export function validate(file: string): void {
  const { pipelines, warnings } = loadConfig(file, process.env);
  const names = pipelines.map(({ name }) => name).join(", ");
  for (const warning of warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
  process.stderr.write(`${file}: no faults; ${pipelines.length === 1 ? "pipeline" : "pipelines"} ${names}\n`);
}
