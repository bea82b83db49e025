import { startEmbeddedServers } from "../emulator/embedded-servers.ts";
import { faultScript } from "../emulator/faults.ts";
import { loadSetup } from "../emulator/setup.ts";
import { readChecked } from "../options/checked-file.ts";
import { firstSignal } from "../lib/signals.ts";

/** Port 0 is any free one; the others name files. */
export interface EmulatorFlags {
  readonly pubsubPort: number;
  readonly bigqueryPort: number;
  readonly storagePort: number;
  readonly data?: string;
  readonly faults?: string;
  readonly setup?: string;
}

/**
 * Runs the embedded servers until a signal, and prints the environment variables that lead to them.
 *
 * @throws SetupError when a port is in use or a file has faults
 */
export async function emulator({ faults, setup, ...options }: EmulatorFlags): Promise<void> {
  const signal = firstSignal();
  const servers = await startEmbeddedServers({
    ...options,
    faults: faults === undefined ? undefined : readChecked(faults, faultScript, process.env),
    setup: setup === undefined ? undefined : loadSetup(setup, process.env),
  });
  for (const [name, value] of Object.entries(servers.environment)) process.stdout.write(`export ${name}=${value}\n`);
  process.stderr.write("The embedded servers are up; SIGINT (ctrl-C) or SIGTERM ends them.\n");
  await signal;
  await servers.close();
}
