/**
 * One behaviour suite for every Pub/Sub server: the embedded one always, Google's emulator when
 * `GOOGLE_PUBSUB_EMULATOR=1`. What does not run says so, in capitals.
 */
import { describe } from "vitest";
import { startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { findGooglePubSubEmulator, startGooglePubSubEmulator } from "./google-pubsub-emulator.ts";
import { saySkipped, upDuringSuite } from "./suite-server.ts";

/** The server of the suite that runs; it is up from `beforeAll` to `afterAll`. */
export interface PubSubServer {
  readonly kind: "embedded" | "google";
  /** `host:port` */
  address(): string;
}

type Suite = (server: PubSubServer) => void;

/** Describes the suite once per server. */
export function describePubSubServers(name: string, suite: Suite): void {
  describe(`${name}, embedded Pub/Sub`, () => {
    suite(embeddedPubSub());
  });
  describe(`${name}, Google's emulator`, () => {
    const { jar, missing } = findGooglePubSubEmulator();
    if (jar) suite(googlePubSub(jar));
    else saySkipped("GOOGLE'S EMULATOR", missing ?? "it has no jar");
  });
}

/** An embedded Pub/Sub for the suite that is being described. */
export function embeddedPubSub(): PubSubServer {
  const server = upDuringSuite(
    () => startPubSubEmulator(),
    (emulator) => emulator.close(),
  );
  return { kind: "embedded", address: () => `${server().host}:${server().port}` };
}

function googlePubSub(jar: string): PubSubServer {
  const server = upDuringSuite(
    () => startGooglePubSubEmulator(jar),
    (emulator) => emulator.stop(),
  );
  return { kind: "google", address: () => server().address };
}
