/**
 * One behaviour suite for every Pub/Sub server: the embedded one always, Google's emulator when
 * `GOOGLE_PUBSUB_EMULATOR=1`. What does not run says so, in capitals.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startPubSubEmulator } from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { findGooglePubSubEmulator, startGooglePubSubEmulator } from "./google-pubsub-emulator.ts";

/** The server of the suite that runs; it is up from `beforeAll` to `afterAll`. */
export interface PubSubServer {
  readonly kind: "embedded" | "google";
  /** `host:port` */
  address(): string;
}

interface Running {
  readonly address: string;
  stop(): Promise<void>;
}

type Suite = (server: PubSubServer) => void;

/** Describes the suite once per server. */
export function describePubSubServers(name: string, suite: Suite): void {
  const onGoogle = googleRunner();
  describe(`${name}, embedded Pub/Sub`, () => {
    suite(running("embedded", startEmbedded));
  });
  describe(`${name}, Google's emulator`, () => {
    onGoogle(suite);
  });
}

/** Runs a suite against Google's emulator, or says in a test's name why it does not. */
function googleRunner(): (suite: Suite) => void {
  const switchedOn = process.env["GOOGLE_PUBSUB_EMULATOR"] === "1";
  if (!switchedOn) return saySkipped("it is switched on by GOOGLE_PUBSUB_EMULATOR=1");
  const { jar, missing } = findGooglePubSubEmulator();
  return jar
    ? (suite) => suite(running("google", () => startGooglePubSubEmulator(jar)))
    : saySkipped(missing ?? "it has no jar");
}

function saySkipped(reason: string): () => void {
  return () => {
    test.skipIf(true)(`SKIPPED, NOTHING RAN AGAINST GOOGLE'S EMULATOR: ${reason.toUpperCase()}`, () => {
      expect.unreachable();
    });
  };
}

function running(kind: PubSubServer["kind"], start: () => Promise<Running>): PubSubServer {
  let server: Running | undefined;
  beforeAll(async () => {
    server = await start();
  });
  afterAll(async () => {
    await server?.stop();
  });
  return {
    kind,
    address() {
      if (!server) throw new Error("The server is not up yet");
      return server.address;
    },
  };
}

async function startEmbedded(): Promise<Running> {
  const emulator = await startPubSubEmulator();
  return { address: `${emulator.host}:${emulator.port}`, stop: () => emulator.close() };
}
