/**
 * The real parts in this process, over real connections to the embedded servers, and all of them on one virtual clock:
 * for what takes hours, or hangs on moments.
 */
import pino from "pino";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import { parseConfig } from "../../src/config-file.ts";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import type { FaultScript } from "../../src/emulator/faults.ts";
import {
  type PubSubEmulator,
  startPubSubEmulator,
  type SubscriptionHandle,
} from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { Service } from "../../src/service.ts";
import type { PipelineStatus } from "../../src/telemetry/status.ts";
import type { LogLine } from "../support/millrace-process.ts";
import { SteppedClock } from "../support/stepped-clock.ts";

const topic = "projects/acme/topics/orders";
const subscription = "projects/acme/subscriptions/orders";
const deadTopic = "projects/acme/topics/orders-dead";
const deadSubscription = "projects/acme/subscriptions/orders-dead";

export const table = "acme.sales.orders";

export interface StageOptions {
  readonly columns?: readonly object[];
  readonly faults?: Partial<FaultScript>;
  /** Of the subscription. */
  readonly subscription?: object;
  /** Options of the pipeline, beside names. */
  readonly pipeline?: object;
  /** Options of `bigquery`, beside the table. */
  readonly bigquery?: object;
  /** Where letters go: to a topic of their own (absent), to the topic of the subscription, or nowhere. */
  readonly deadLetters?: "own topic" | "nowhere";
}

/** `id`, which is required, and `name`. */
export const idAndName: readonly object[] = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING" },
];

export interface StageMessage {
  readonly data: string | Buffer;
  readonly orderingKey?: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

export class Stage {
  readonly clock: SteppedClock;
  readonly pubsub: PubSubEmulator;
  readonly bigquery: BigQueryEmulator;
  readonly log: LogLine[] = [];
  readonly #options: StageOptions;
  #service: Service | undefined;

  private constructor(options: StageOptions, clock: SteppedClock, pubsub: PubSubEmulator, bigquery: BigQueryEmulator) {
    this.#options = options;
    this.clock = clock;
    this.pubsub = pubsub;
    this.bigquery = bigquery;
  }

  static async open(options: StageOptions = {}): Promise<Stage> {
    const clock = new SteppedClock();
    const pubsub = await startPubSubEmulator({ clock, faults: options.faults?.pubsub ?? [] });
    const bigquery = await startBigQueryEmulator({ clock, faults: options.faults?.bigquery ?? [] });
    pubsub.createTopic(topic);
    pubsub.createTopic(deadTopic);
    pubsub.createSubscription({ name: subscription, topic, ackDeadlineSeconds: 10, ...options.subscription });
    pubsub.createSubscription({ name: deadSubscription, topic: deadTopic });
    bigquery.createTable(table, options.columns ?? idAndName);
    return new Stage(options, clock, pubsub, bigquery);
  }

  /** A stage with a running pipeline, which ends with the test. */
  static async running(options: StageOptions = {}): Promise<Stage> {
    const stage = await Stage.open(options);
    onTestFinished(() => stage.close());
    await stage.start();
    await stage.clock.until("the pipeline has begun", () => stage.status.state !== "STARTING", 10_000, 10);
    return stage;
  }

  get subscription(): SubscriptionHandle {
    return this.pubsub.subscription(subscription);
  }

  /** Messages that are not acked. */
  get unsettled(): number {
    return this.subscription.backlog + this.subscription.outstanding;
  }

  get rows(): readonly Readonly<Record<string, unknown>>[] {
    return this.bigquery.rows(table);
  }

  get rowCount(): number {
    return this.bigquery.rowCount(table);
  }

  get letters(): readonly { readonly data: Buffer; readonly attributes: Readonly<Record<string, string>> }[] {
    return this.pubsub.subscription(deadSubscription).messages();
  }

  /** What `/status` would say. */
  get status(): PipelineStatus {
    return this.#service!.pipelines[0]!;
  }

  async start(): Promise<void> {
    const { pubsub, bigquery } = this;
    const letterTopic = this.#options.deadLetters === "own topic" ? topic : deadTopic;
    const file = {
      pipelines: [
        {
          name: "orders",
          subscription,
          bigquery: { table, useTableSchema: true, ...this.#options.bigquery },
          ...(this.#options.deadLetters !== "nowhere" && { deadLetter: { topic: letterTopic } }),
          ...this.#options.pipeline,
        },
      ],
      endpoints: {
        pubsub: `${pubsub.host}:${pubsub.port}`,
        bigquery: `http://${bigquery.host}:${bigquery.restPort}`,
        bigqueryStorage: `${bigquery.host}:${bigquery.storagePort}`,
      },
    };
    const log = pino({}, { write: (line) => void this.log.push(JSON.parse(line) as LogLine) });
    const config = parseConfig(stringify(file), {}, "the stage");
    this.#service = await Service.start(config, { log, serveHttp: false, clock: this.clock });
  }

  publish(messages: readonly StageMessage[]): string[] {
    return this.pubsub.publish(topic, messages);
  }

  /** Publishes `{"id":i,"name":"n"}` for i from `first` to `last`. */
  publishNumbered(first: number, last: number): string[] {
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    return this.publish(numbers.map((id) => ({ data: `{"id":${id},"name":"n"}` })));
  }

  /** How many messages were published to the topic, by whomever. */
  get published(): number {
    return this.pubsub.topic(topic).published;
  }

  /** How often a message was handed out. */
  get deliveries(): number {
    return this.pubsub.faults.calls("StreamingPull.message");
  }

  /** Moves time on and says when requests to append came, in milliseconds from now. */
  async appendTimes(ms: number, stepMs = 10): Promise<number[]> {
    const start = this.clock.monotonic();
    const times: number[] = [];
    for (let at = 0; at < ms; at += stepMs) {
      const before = this.bigquery.appendRequests;
      await this.clock.advance(stepMs, stepMs);
      const came = this.bigquery.appendRequests - before;
      times.push(...Array.from({ length: came }, () => this.clock.monotonic() - start));
    }
    return times;
  }

  /** Moves time on until every message is acked. */
  settled(limitMs = 60_000, stepMs = 20): Promise<void> {
    return this.clock.until("every message is settled", () => this.unsettled === 0, limitMs, stepMs);
  }

  async drain(): Promise<void> {
    const drained = this.#service?.drain();
    let isDrained = drained === undefined;
    void drained?.finally(() => {
      isDrained = true;
    });
    await this.clock.until("the drain", () => isDrained, 40_000);
  }

  async close(): Promise<void> {
    await this.drain();
    const closed = Promise.all([this.pubsub.close(), this.bigquery.close()]);
    let isClosed = false;
    void closed.finally(() => {
      isClosed = true;
    });
    await this.clock.until("the end of the servers", () => isClosed, 600_000, 1000);
  }
}
