/**
 * The servers of whole pipelines, in pairs: each Pub/Sub with the embedded BigQuery, and the embedded Pub/Sub with
 * goccy's BigQuery emulator when `GOCCY_BIGQUERY_EMULATOR` is 1 or the path of its binary.
 */
import { describe } from "vitest";
import { startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import type { Fault } from "../../src/emulator/faults.ts";
import { findGoccyBigQueryEmulator, startGoccyBigQueryEmulator } from "./goccy-bigquery-emulator.ts";
import { describePubSubServers, embeddedPubSub, type PubSubServer } from "./pubsub-servers.ts";
import { saySkipped, upDuringSuite } from "./suite-server.ts";

/** Where a BigQuery listens. */
export interface BigQueryAddress {
  readonly host: string;
  readonly restPort: number;
  readonly storagePort: number;
  /** To be called for each new table, when there is such a call. */
  openDefaultStream?(table: string): Promise<void>;
}

/** What a server lacks, in words that tell it to readers of a test report. */
export type Shortcomings = Partial<
  Readonly<Record<"refuseRows" | "growTables" | "fillDefaults" | "readPacked", string>>
>;

export interface BigQueryServer {
  readonly kind: "embedded" | "goccy";
  readonly cannot: Shortcomings;
  /** From `beforeAll` to `afterAll`. */
  address(): BigQueryAddress;
  /** What goes wrong from now on. */
  script(faults: readonly Fault[]): void;
}

/** What the embedded one does as Google documents it, and goccy's does not; docs/emulator.md tells more. */
const goccysShortcomings: Shortcomings = {
  refuseRows: "it cannot be told to refuse a row, and names no row that it refuses",
  growTables: "a patch adds no column to the stored table, and streams keep the schema of their beginning",
  fillDefaults: "it has no defaults of columns",
  readPacked: "it reads NUMERIC, BIGNUMERIC, TIME and DATETIME of the Storage Write API wrongly",
};

export interface ServerPair {
  readonly pubsub: PubSubServer;
  readonly bigquery: BigQueryServer;
}

/** Describes the suite once per pair. */
export function describeServerPairs(name: string, suite: (servers: ServerPair) => void): void {
  describePubSubServers(name, (pubsub) => suite({ pubsub, bigquery: embeddedBigQuery() }));
  describe(`${name}, goccy's emulator`, () => {
    const { binary, missing } = findGoccyBigQueryEmulator();
    if (binary) suite({ pubsub: embeddedPubSub(), bigquery: goccyBigQuery(binary) });
    else saySkipped("GOCCY'S EMULATOR", missing ?? "it has no binary");
  });
}

/** To be added to the name of a test that is skipped when the server at hand has the shortcoming. */
export function because(shortcoming: string | undefined): string {
  return shortcoming === undefined ? "" : ` (SKIPPED: ${shortcoming.toUpperCase()})`;
}

function embeddedBigQuery(): BigQueryServer {
  const server = upDuringSuite(
    () => startBigQueryEmulator(),
    (emulator) => emulator.close(),
  );
  return { kind: "embedded", cannot: {}, address: server, script: (faults) => server().faults.replace(faults) };
}

function goccyBigQuery(binary: string): BigQueryServer {
  const address = upDuringSuite(
    () => startGoccyBigQueryEmulator(binary),
    (emulator) => emulator.stop(),
  );
  const script = (faults: readonly Fault[]): void => {
    if (faults.length > 0) throw new Error("goccy's emulator has no fault scripts");
  };
  return { kind: "goccy", cannot: goccysShortcomings, address, script };
}
