/**
 * What docker-compose.yml starts, without Docker: Google's Pub/Sub emulator, goccy's BigQuery emulator, what
 * deploy/compose/setup.sh makes in them, and Millrace with deploy/compose/config.yaml.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { BigQueryClient } from "../support/bigquery-client.ts";
import { eventually } from "../support/eventually.ts";
import { findGoccyBigQueryEmulator, startGoccyBigQueryEmulator } from "../support/goccy-bigquery-emulator.ts";
import { findGooglePubSubEmulator, startGooglePubSubEmulator } from "../support/google-pubsub-emulator.ts";
import { MillraceProcess } from "../support/millrace-process.ts";
import { PubSubClient } from "../support/pubsub-client.ts";
import { saySkipped, upDuringSuite } from "../support/suite-server.ts";

const compose = new URL("../../deploy/compose/", import.meta.url).pathname;

describe("compose, Google's Pub/Sub and goccy's emulator", () => {
  const { jar, missing: noPubSub } = findGooglePubSubEmulator();
  const { binary, missing: noBigQuery } = findGoccyBigQueryEmulator();
  if (jar && binary) suite(jar, binary);
  else saySkipped("GOCCY'S AND GOOGLE'S EMULATORS", noBigQuery ?? noPubSub ?? "one is missing");
});

function suite(jar: string, binary: string): void {
  const pubsub = upDuringSuite(
    () => startGooglePubSubEmulator(jar),
    (emulator) => emulator.stop(),
  );
  const bigquery = upDuringSuite(
    () => startGoccyBigQueryEmulator(binary, "local"),
    (emulator) => emulator.stop(),
  );

  test("a published order is a row, after a setup that was run twice", async () => {
    const { host, restPort, storagePort } = bigquery();
    const rest = `http://${host}:${restPort}`;
    await fetch(`${rest}/bigquery/v2/projects/local/datasets`, {
      method: "POST",
      body: JSON.stringify({ datasetReference: { projectId: "local", datasetId: "sales" } }),
    });
    const addresses = {
      PUBSUB: `http://${pubsub().address}`,
      BIGQUERY: rest,
      BIGQUERY_STORAGE: `http://${host}:${storagePort}`,
    };
    const setup = (): Promise<{ stdout: string }> =>
      promisify(execFile)("sh", [`${compose}setup.sh`], { env: { ...process.env, ...addresses } });
    await setup();
    expect((await setup()).stdout).toContain("ready");

    const config = parse(readFileSync(`${compose}config.yaml`, "utf8")) as { endpoints: object };
    const millrace = MillraceProcess.start({
      ...config,
      service: { http: { port: 0 } },
      endpoints: { pubsub: pubsub().address, bigquery: rest, bigqueryStorage: `${host}:${storagePort}` },
    });
    const client = new PubSubClient(pubsub().address);
    const order = { id: 1, customer: "Ada", total: 12.5, at: "2024-02-29T12:34:56Z" };
    await client.publish("projects/local/topics/orders", [{ data: Buffer.from(JSON.stringify(order)) }]);
    client.close();
    const rows = await eventually("the order is in the table", async () => {
      const found = await new BigQueryClient(rest).rows("local.sales.orders");
      return found.length > 0 ? found : undefined;
    });
    expect(await millrace.stop()).toBe(0);
    // 2024-02-29T12:34:56 UTC is second 1,709,210,096.
    expect(rows).toEqual([{ id: "1", customer: "Ada", total: "12.5", at: "1709210096000000" }]);
  }, 60_000);
}
