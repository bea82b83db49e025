/** goccy's BigQuery emulator, where this machine has it: found, started on free ports, stopped by its process id. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { eventually, startTimeoutMs } from "./eventually.ts";

/** Where the emulator is, or else why it cannot be had. */
export interface Installation {
  readonly binary?: string;
  readonly missing?: string;
}

export interface GoccyBigQueryEmulator {
  readonly host: string;
  readonly restPort: number;
  readonly storagePort: number;
  /**
   * Makes the default stream of a table, as `PROJECT.DATASET.TABLE`, known to the server. BigQuery needs no such call;
   * without it this server fails the first append, and no call to its Write API returns from then on.
   */
  openDefaultStream(table: string): Promise<void>;
  stop(): Promise<void>;
}

const installer = new URL("../../.ci/goccy-bigquery-emulator", import.meta.url).pathname;

/**
 * Looks for the binary: `GOCCY_BIGQUERY_EMULATOR` is its path, or 1 for the one that `.ci/goccy-bigquery-emulator`
 * builds. When that is not there yet, its build is started in the background, for another time.
 */
export function findGoccyBigQueryEmulator(): Installation {
  const wanted = process.env["GOCCY_BIGQUERY_EMULATOR"];
  if (!wanted) return { missing: "it is switched on by GOCCY_BIGQUERY_EMULATOR=1" };
  if (wanted === "1") {
    const { status, stdout, stderr, error } = spawnSync(installer, { encoding: "utf8" });
    return status === 0 ? { binary: stdout.trim() } : { missing: error?.message ?? stderr.trim() };
  }
  try {
    accessSync(wanted, constants.X_OK);
    return { binary: wanted };
  } catch {
    return { missing: `${wanted} cannot be executed` };
  }
}

/** Starts the emulator for one project, without datasets, and waits until it listens. Its data is gone with it. */
export async function startGoccyBigQueryEmulator(binary: string, project = "test"): Promise<GoccyBigQueryEmulator> {
  const directory = mkdtempSync(join(tmpdir(), "goccy-bigquery-"));
  const emulator = spawn(binary, [`--project=${project}`, "--host=127.0.0.1", "--port=0", "--grpc-port=0"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { ...process.env, TMPDIR: directory },
  });
  const end = (): void => {
    emulator.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", end);
  const stop = async (): Promise<void> => {
    process.off("exit", end);
    const ended = emulator.exitCode === null ? once(emulator, "exit") : undefined;
    end();
    await ended;
  };
  try {
    const [restPort, storagePort] = await ports(emulator);
    const host = "127.0.0.1";
    return { host, restPort, storagePort, openDefaultStream: (table) => lookUp(`${host}:${storagePort}`, table), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** It says where it listens, REST first. */
async function ports(emulator: ChildProcess): Promise<[rest: number, storage: number]> {
  let said = "";
  emulator.stdout!.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const read = (): [rest: number, storage: number] | undefined => {
    if (emulator.exitCode !== null) throw new Error(`it ended with status ${emulator.exitCode}`);
    const [rest, storage] = [...said.matchAll(/listening at \S+:(\d+)\n/g)].map(([, port]) => Number(port));
    return rest !== undefined && storage !== undefined ? [rest, storage] : undefined;
  };
  return eventually("goccy's BigQuery emulator listens", read, startTimeoutMs);
}

const asBytes = (bytes: Buffer): Buffer => bytes;

async function lookUp(address: string, table: string): Promise<void> {
  const [project, dataset, id] = table.split(".");
  const name = Buffer.from(`projects/${project}/datasets/${dataset}/tables/${id}/streams/_default`);
  // GetWriteStreamRequest: field 1 is the name, here always shorter than 128 bytes.
  const request = Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  const client = new Client(address, credentials.createInsecure());
  try {
    await new Promise<void>((resolve, reject) => {
      client.makeUnaryRequest(
        "/google.cloud.bigquery.storage.v1.BigQueryWrite/GetWriteStream",
        asBytes,
        asBytes,
        request,
        { deadline: Date.now() + 10_000 },
        (error) => (error ? reject(error) : resolve()),
      );
    });
  } finally {
    client.close();
  }
}
