/**
 * `npm run bench:pull`: what it costs to pull small messages and to settle them, without a pipeline in between. Prints wall
 * time and CPU time of this process; the service has another one.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { pino } from "pino";
import { systemClock } from "../src/lib/clock.ts";
import { Fates, type MessageBatch } from "../src/message.ts";
import { StreamingPull } from "../src/source/streaming-pull.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "500000" },
    "per-response": { type: "string", default: "500" },
  },
});
const messages = Number(values.messages);

const server = fork(new URL("pulling-server.ts", import.meta.url), [values.messages, values["per-response"]]);
const [port] = (await once(server, "message")) as [number];
const ignore = (): void => undefined;
const source = new StreamingPull({
  subscription: "projects/p/subscriptions/s",
  pull: { streams: 1, maxOutstandingMessages: 20_000, maxOutstandingBytes: 100_000_000 },
  leases: {
    minDurationPerAckExtensionMs: 10_000,
    maxDurationPerAckExtensionMs: 600_000,
    maxAckExtensionPeriodMs: Infinity,
    releaseAfterMs: Infinity,
  },
  endpoint: { host: "127.0.0.1", port, plaintext: true },
  credentials: undefined,
  clock: systemClock,
  log: pino({ level: "silent" }),
  observer: {
    received: ignore,
    responseDropped: ignore,
    acked: ignore,
    nacked: ignore,
    extended: ignore,
    requestFailed: ignore,
    leaseEnded: ignore,
    streamOpened: ignore,
    streamClosed: ignore,
    outstanding: ignore,
    timeToAck: ignore,
  },
});

const abort = new AbortController();
let settled = 0;

async function settle(batch: MessageBatch): Promise<void> {
  await source.settle(batch, new Fates(batch.length));
  settled += batch.length;
  if (settled >= messages) abort.abort();
}

await source.open(abort.signal);
const cpuBefore = process.cpuUsage();
const startMs = performance.now();
for await (const batch of source.batches(abort.signal)) void settle(batch);
const seconds = (performance.now() - startMs) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
process.stdout.write(
  `${settled} messages in ${seconds.toFixed(2)} s; ${((user + system) / settled).toFixed(3)} µs of CPU time each\n`,
);
await source.close();
server.kill();
