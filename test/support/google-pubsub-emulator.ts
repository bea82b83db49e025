/** Google's own Pub/Sub emulator, where this machine has it: found, started on a free port, stopped by its process id. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { eventually, startTimeoutMs } from "./eventually.ts";
import { PubSubClient } from "./pubsub-client.ts";

/** Where the emulator is, or else why it cannot be had. */
export interface Installation {
  readonly jar?: string;
  readonly missing?: string;
}

export interface GooglePubSubEmulator {
  /** `host:port` */
  readonly address: string;
  stop(): Promise<void>;
}

const debianPackage = "google-cloud-cli-pubsub-emulator";

/** Looks for the Debian package and for Java, when `GOOGLE_PUBSUB_EMULATOR` is 1. */
export function findGooglePubSubEmulator(): Installation {
  if (process.env["GOOGLE_PUBSUB_EMULATOR"] !== "1")
    return { missing: "it is switched on by GOOGLE_PUBSUB_EMULATOR=1" };
  let files: string;
  try {
    files = execFileSync("dpkg", ["-L", debianPackage], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return { missing: `the package ${debianPackage} is not installed` };
  }
  const jar = files.split("\n").find((file) => /cloud-pubsub-emulator-[^/]*\.jar$/.test(file));
  if (!jar) return { missing: `the package ${debianPackage} has no jar` };
  try {
    execFileSync("java", ["-version"], { stdio: "ignore" });
  } catch {
    return { missing: "there is no java on the path" };
  }
  return { jar };
}

/** Another program may take the port while Java starts. */
const maxStarts = 3;

/** Starts the emulator and waits until it answers CreateTopic. */
export async function startGooglePubSubEmulator(jar: string): Promise<GooglePubSubEmulator> {
  for (let starts = 0; starts < maxStarts; starts++) {
    const emulator = await startOnce(jar);
    if (emulator) return emulator;
  }
  throw new Error(`Google's Pub/Sub emulator ended ${maxStarts} times before it answered`);
}

/** Undefined when it ends before it answers. It keeps acked messages: hence the heap. */
async function startOnce(jar: string): Promise<GooglePubSubEmulator | undefined> {
  const port = await freePort();
  const emulator = spawn("java", ["-Xmx1g", "-jar", jar, "--host=127.0.0.1", `--port=${port}`], { stdio: "ignore" });
  const kill = (): boolean => emulator.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async (): Promise<void> => {
    process.off("exit", kill);
    if (emulator.exitCode !== null) return;
    const ended = once(emulator, "exit");
    kill();
    await ended;
  };
  const address = `127.0.0.1:${port}`;
  try {
    if (await answers(address, emulator)) return { address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
  await stop();
  return undefined;
}

/** False when it has ended: whoever answers then is another program. */
async function answers(address: string, emulator: ChildProcess): Promise<boolean> {
  const client = new PubSubClient(address);
  const probe = async (): Promise<boolean> => {
    if (emulator.exitCode !== null) return false;
    await client.createTopic(`projects/started/topics/started-${process.pid}`);
    return emulator.exitCode === null;
  };
  try {
    return await eventually("Google's Pub/Sub emulator answers", probe, startTimeoutMs);
  } finally {
    client.close();
  }
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
