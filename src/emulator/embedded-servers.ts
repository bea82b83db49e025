/** Both embedded servers, started and stopped together. */
import { SetupError } from "../errors.ts";
import { type BigQueryEmulator, startBigQueryEmulator } from "./bigquery/bigquery-emulator.ts";
import type { FaultScript } from "./faults.ts";
import { type PubSubEmulator, startPubSubEmulator } from "./pubsub/pubsub-emulator.ts";
import { applySetup, type Setup } from "./setup.ts";

export interface EmbeddedServersOptions {
  /** 0: any free one. */
  readonly pubsubPort: number;
  readonly bigqueryPort: number;
  readonly storagePort: number;
  /** File that keeps datasets, tables and rows; in memory without one. */
  readonly data?: string | undefined;
  readonly faults?: FaultScript | undefined;
  readonly setup?: Setup | undefined;
}

export interface EmbeddedServers {
  readonly pubsub: PubSubEmulator;
  readonly bigquery: BigQueryEmulator;
  /** The environment variables that lead clients to them. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** @throws SetupError when a port is in use, or a server refuses a part of the setup */
export async function startEmbeddedServers(options: EmbeddedServersOptions): Promise<EmbeddedServers> {
  const { pubsubPort, bigqueryPort, storagePort, data, faults, setup } = options;
  const pubsub = await listening(() => startPubSubEmulator({ port: pubsubPort, faults: faults?.pubsub ?? [] }));
  const open: { close(): Promise<void> }[] = [pubsub];
  const close = async (): Promise<void> => {
    for (const server of open.toReversed()) await server.close();
  };
  try {
    const bigquery = await listening(() =>
      startBigQueryEmulator({
        restPort: bigqueryPort,
        storagePort,
        faults: faults?.bigquery ?? [],
        ...setup?.bigquery,
        ...(data !== undefined && { data }),
      }),
    );
    open.push(bigquery);
    if (setup) applySetup(setup, pubsub, bigquery);
    const environment = {
      PUBSUB_EMULATOR_HOST: `${pubsub.host}:${pubsub.port}`,
      BIGQUERY_EMULATOR_HOST: `http://${bigquery.host}:${bigquery.restPort}`,
      BIGQUERY_STORAGE_EMULATOR_HOST: `${bigquery.host}:${bigquery.storagePort}`,
    };
    return { pubsub, bigquery, environment, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function listening<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { readonly port?: number };
    if (code !== "EADDRINUSE") throw error;
    throw new SetupError(`Port ${port} is in use: choose another (see millrace emulator --help), or 0 for a free one`);
  }
}
