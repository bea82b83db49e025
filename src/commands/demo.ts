import { fileURLToPath } from "node:url";
import { parseConfig } from "../config-file.ts";
import { type EmbeddedServers, startEmbeddedServers } from "../emulator/embedded-servers.ts";
import { readTable } from "../emulator/setup.ts";
import { MillraceError } from "../errors.ts";
import { pause, systemClock } from "../lib/clock.ts";
import { Service } from "../service.ts";
import { openLog } from "../telemetry/log.ts";
import { demoPayloads } from "./demo-orders.ts";
import { demoReport } from "./demo-report.ts";

const published = 2000;
const bad = 20;
const seed = 2026;
const timeLimitMs = 18_000;

const topic = "projects/demo/topics/orders";
const subscription = "projects/demo/subscriptions/orders-bigquery";
const deadLetterTopic = "projects/demo/topics/orders-dead";
const deadLetterSubscription = "projects/demo/subscriptions/orders-dead-reader";
const table = "demo.sales.orders";

const config = `
pipelines:
  - name: orders
    subscription: ${subscription}
    bigquery: { table: ${table}, useTableSchema: true }
    deadLetter: { topic: ${deadLetterTopic} }
service: { drainTimeout: 5s, log: { level: error } }
`;

/** What the demonstration ends with, read back from the table and the dead-letter topic. */
export interface DemoResult {
  readonly published: number;
  readonly rows: number;
  readonly deadLettered: number;
  readonly byCode: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/**
 * The whole way on this machine: embedded servers, 2,000 messages, a pipeline as `run` has it, and a look at what came out.
 *
 * @throws MillraceError when not everything arrives in time
 */
export async function demo({ json }: { readonly json: boolean }): Promise<void> {
  const startMs = systemClock.monotonic();
  const schema = fileURLToPath(new URL("../../schemas/orders/table.json", import.meta.url));
  const servers = await startEmbeddedServers({
    pubsubPort: 0,
    bigqueryPort: 0,
    storagePort: 0,
    setup: {
      topics: [topic, deadLetterTopic],
      subscriptions: [
        { name: subscription, topic },
        { name: deadLetterSubscription, topic: deadLetterTopic },
      ],
      tables: [{ name: table, resource: readTable(schema) }],
      messages: [{ topic, payloads: demoPayloads(published, bad, seed) }],
    },
  });
  try {
    await runPipeline(servers, startMs + timeLimitMs);
    const result = resultOf(servers, (systemClock.monotonic() - startMs) / 1000);
    const text = json
      ? `${JSON.stringify(result)}\n`
      : await demoReport(servers, result, { table, deadLetterSubscription });
    process.stdout.write(text);
  } finally {
    await servers.close();
  }
}

async function runPipeline({ environment, bigquery, pubsub }: EmbeddedServers, deadlineMs: number): Promise<void> {
  const checked = parseConfig(config, environment, "the configuration of the demo");
  const service = await Service.start(checked, { log: openLog(checked.service.log.level), serveHttp: false });
  const arrived = (): number => bigquery.rowCount(table) + pubsub.topic(deadLetterTopic).published;
  while (arrived() < published && systemClock.monotonic() < deadlineMs) {
    showProgress(arrived());
    await pause(systemClock, 20);
  }
  showProgress(arrived());
  const states = service.pipelines.map(({ state, reason }) => `${state} ${reason}`).join("; ");
  await service.drain();
  if (arrived() < published)
    throw new MillraceError(`Only ${arrived()} of ${published} messages arrived in time: ${states}`);
}

function resultOf({ bigquery, pubsub }: EmbeddedServers, seconds: number): DemoResult {
  const letters = pubsub.subscription(deadLetterSubscription).messages();
  const codes = letters.map(({ attributes }) => attributes["millrace_error_code"] ?? "");
  const byCode = Object.fromEntries(
    [...Map.groupBy(codes.toSorted(), (code) => code)].map(([code, group]) => [code, group.length]),
  );
  return {
    published,
    rows: bigquery.rowCount(table),
    deadLettered: letters.length,
    byCode,
    seconds: Math.round(seconds * 100) / 100,
  };
}

/** On a terminal only, and in one line that the next one overwrites. */
function showProgress(arrived: number): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(arrived < published ? `\r${arrived} of ${published} messages` : "\r\u001B[K");
}
