/**
 * Cases that users of other programs have reported: configuration, credentials, emulators. Their list is
 * test/fixtures/public-cases.json.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfig } from "../../../src/config-file.ts";
import { FaultReport } from "../../../src/options/fault-report.ts";
import { tableName } from "../../../src/schema/table-reference.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeSubscriber } from "../../support/fake-subscriber.ts";
import { startPrivateEndpoint, trust } from "../../support/private-endpoint.ts";
import { Stage } from "../stage.ts";
import { World, type WorldOptions } from "../world.ts";

async function opened(options: WorldOptions): Promise<World> {
  const world = await World.open(options);
  onTestFinished(() => world.close());
  return world;
}

async function troubleOf(world: World): Promise<{ readonly state: string; readonly reason: string }> {
  const url = await world.millrace.url();
  const { pipelines } = (await (await fetch(`${url}/status`)).json()) as {
    pipelines: [{ state: string; reason: string }];
  };
  return pipelines[0];
}

describe("ce-02 Local emulators speak plain text", () => {
  test("no TLS, and nobody looks for credentials", async () => {
    const world = await opened({ variables: { GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/key.json" } });
    world.start();
    world.publish([world.ledger.publish("good")]);
    await eventually("the message is settled", () => (world.unsettled === 0 ? true : undefined));
    expect(await world.stop()).toBe(0);
    expect(world.rows).toBe(1);
  });

  test.each(["bigquery", "pubsub"])("a wrong port of %s is told within 15 s", async (name) => {
    const world = await opened({ endpoints: { [name]: "127.0.0.1:1" } });
    world.start();
    const { reason } = await eventually(
      "the trouble is told",
      async () => {
        const trouble = await troubleOf(world);
        return trouble.state === "UNAVAILABLE" ? trouble : undefined;
      },
      15_000,
    );
    expect(reason).toContain("127.0.0.1:1");
  });
});

test("ce-03 Custom endpoint that still needs credentials", async () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const file = join(mkdtempSync(join(tmpdir(), "millrace-")), "key.json");
  const key = {
    type: "service_account",
    client_email: "writer@acme.iam.gserviceaccount.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    // Of another universe than Google's own: tokens are signed with the key and need no server.
    universe_domain: "acme.test",
  };
  writeFileSync(file, JSON.stringify(key));
  const servers = await opened({});
  const { host, storagePort } = servers.bigquery;
  const endpoint = await startPrivateEndpoint(`${host}:${storagePort}`);
  onTestFinished(() => endpoint.close());
  const world = await opened({
    endpoints: {
      bigquery: `http://${host}:${servers.bigquery.restPort}`,
      bigqueryStorage: `https://localhost:${endpoint.port}`,
    },
    variables: { ...trust, GOOGLE_APPLICATION_CREDENTIALS: file },
  });
  world.start();
  world.publish([world.ledger.publish("good")]);
  await eventually("the message is settled", () => (world.unsettled === 0 ? true : undefined));
  expect(await world.stop()).toBe(0);
  expect(servers.rows).toBe(1);
  expect(endpoint.authorizations.length).toBeGreaterThanOrEqual(1);
  for (const authorization of endpoint.authorizations) expect(authorization).toMatch(/^Bearer \S+\.\S+\.\S+$/);
});

test("ce-04 Exactly-once flag absent in the emulator", async () => {
  const subscriber = new FakeSubscriber();
  await subscriber.start();
  onTestFinished(() => subscriber.close());
  // Its responses have no subscription_properties.
  subscriber.greeting = [{ ackId: "a1", data: '{"id":0,"name":"a"}' }];
  const world = await opened({ endpoints: { pubsub: `127.0.0.1:${subscriber.port}` } });
  world.start();
  await eventually("the message is acked", () => (subscriber.acks.includes("a1") ? true : undefined));
  expect(world.rows).toBe(1);
  expect(await world.stop()).toBe(0);
});

describe("ce-05 Spelling of the table name", () => {
  const read = (table: string): string => {
    const subscription = "projects/p/subscriptions/sub";
    const file = { pipelines: [{ name: "orders", subscription, bigquery: { table, useTableSchema: true } }] };
    return tableName(parseConfig(stringify(file), {}, "the file").pipelines[0]!.bigquery.table);
  };

  test.each([
    ["my-proj.ds.tbl", "projects/my-proj/datasets/ds/tables/tbl"],
    ["my-proj:ds.tbl", "projects/my-proj/datasets/ds/tables/tbl"],
    ["example.com:my-proj.ds.tbl", "projects/example.com:my-proj/datasets/ds/tables/tbl"],
  ])("%s is read", (text, table) => expect(read(text)).toBe(table));

  test.each(["ds.tbl", "a.b.c.d"])("%s is refused", (text) => {
    expect(() => read(text)).toThrow(FaultReport);
    expect(() => read(text)).toThrow("P.D.T");
  });
});

test("ce-06 No rights on the table at start", async () => {
  const stage = await Stage.running({ faults: { bigquery: [{ method: "tables.get", status: "PERMISSION_DENIED" }] } });
  stage.publishNumbered(1, 10);
  await stage.clock.advance(600_000, 500);
  expect(stage.status.state).toBe("PERMISSION_DENIED");
  expect(stage.status.reason).toContain("acme.sales.orders");
  expect(stage.status.reason).toContain("bigquery.tables.get");
  // Nothing is pulled, so nothing is given back.
  expect(stage.deliveries).toBe(0);
  expect(stage.pubsub.faults.calls("ModifyAckDeadline")).toBe(0);
  expect(stage.unsettled).toBe(10);
});
