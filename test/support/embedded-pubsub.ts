/** An embedded Pub/Sub with its clients, for a whole file of tests; each test has a topic of its own. */
import { PubSub } from "@google-cloud/pubsub";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type PubSubEmulator, startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { PubSubClient } from "./pubsub-client.ts";

/** The bodies of the messages that a subscription has still to deliver or to see acked. */
export function bodiesLeft(emulator: PubSubEmulator, subscription: string): string[] {
  return emulator
    .subscription(subscription)
    .messages()
    .map(({ data }) => data.toString());
}

export interface EmbeddedPubSub {
  readonly emulator: PubSubEmulator;
  readonly client: PubSubClient;
  /** Google's own client. */
  readonly google: PubSub;
  /** Of the test that runs; the topic is there, the subscription is not. */
  readonly topic: string;
  readonly subscription: string;
}

/**
 * Starts the server before the tests of the file and stops it behind them.
 *
 * @param prefix of the names of topics and subscriptions
 * @param use is given what there is, anew for each test
 */
export function embeddedPubSub(prefix: string, use: (embedded: EmbeddedPubSub) => void): void {
  let servers: Pick<EmbeddedPubSub, "emulator" | "client" | "google">;
  let serial = 0;
  beforeAll(async () => {
    const emulator = await startPubSubEmulator();
    const address = `${emulator.host}:${emulator.port}`;
    process.env["PUBSUB_EMULATOR_HOST"] = address;
    servers = { emulator, client: new PubSubClient(address), google: new PubSub({ projectId: "test" }) };
  });
  beforeEach(() => {
    const topic = `projects/test/topics/${prefix}-${++serial}`;
    servers.emulator.createTopic(topic);
    use({ ...servers, topic, subscription: `projects/test/subscriptions/${prefix}-${serial}` });
  });
  afterEach(() => servers.emulator.faults.replace([]));
  afterAll(async () => {
    delete process.env["PUBSUB_EMULATOR_HOST"];
    await servers.google.close();
    servers.client.close();
    await servers.emulator.close();
  });
}
