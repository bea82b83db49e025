/** The destination over real gRPC and REST, against an embedded BigQuery. */
import { pino } from "pino";
import { BigQueryDestination, type BigQueryDestinationOptions } from "../../src/bigquery/bigquery-destination.ts";
import type { BigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { tableMode } from "./mapping-options.ts";

/** What a test does not leave to the defaults below. */
export type DestinationChoices = Partial<BigQueryDestinationOptions> & Pick<BigQueryDestinationOptions, "observer">;

/** A destination that writes to the table `p.d.t`. */
export function emulatedDestination(
  { host, restPort, storagePort }: BigQueryEmulator,
  choices: DestinationChoices,
): BigQueryDestination {
  return new BigQueryDestination({
    table: { project: "p", dataset: "d", table: "t" },
    mapping: { ...tableMode, subscription: "projects/p/subscriptions/s" },
    restEndpoint: { host, port: restPort, plaintext: true },
    storageEndpoint: { host, port: storagePort, plaintext: true },
    credentials: undefined,
    batch: { maxBytes: 1 << 20, maxRows: 500, maxDelayMs: 5 },
    append: { maxInFlight: 8, minConnections: 1, maxConnections: 1, maxRequestBytes: 9 << 20 },
    schemaRefreshIntervalMs: 60_000,
    maxRowBytes: 25 << 20,
    refusedHoldsKey: false,
    delivery: "atLeastOnce",
    clock: systemClock,
    log: pino({ level: "silent" }),
    ...choices,
  });
}
