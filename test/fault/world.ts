/**
 * Servers, resources and the real command for one trial. The servers run in this process, past whose faults the trial
 * reaches them; Pub/Sub's clock can be pushed on, so that nobody waits for the leases of a process that is dead.
 */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BigQueryEmulator, startBigQueryEmulator } from "../../src/emulator/bigquery/bigquery-emulator.ts";
import type { FaultScript } from "../../src/emulator/faults.ts";
import {
  type PubSubEmulator,
  startPubSubEmulator,
  type SubscriptionHandle,
} from "../../src/emulator/pubsub/pubsub-emulator.ts";
import { MillraceProcess } from "../support/millrace-process.ts";
import { memoryOf } from "../support/process-memory.ts";
import { PushedClock } from "../support/pushed-clock.ts";
import { Ledger, numberIn } from "./ledger.ts";

const columns: readonly object[] = [
  { name: "id", type: "INT64", mode: "REQUIRED" },
  { name: "name", type: "STRING" },
];

const topic = "projects/acme/topics/orders";
const subscription = "projects/acme/subscriptions/orders";
const deadTopic = "projects/acme/topics/orders-dead";
const deadSubscription = "projects/acme/subscriptions/orders-dead";
const table = "acme.sales.orders";

/** Processes come and go: what one has compiled the next need not. */
const quickStart = { NODE_COMPILE_CACHE: join(tmpdir(), "millrace-compile-cache") };

/** Longer than any lease. */
const beyondLeasesMs = 601_000;

export interface WorldOptions {
  /** Of the table; `id` and `name` when absent. */
  readonly columns?: readonly object[];
  readonly faults?: Partial<FaultScript>;
  /** Of the subscription, such as `enableMessageOrdering`. */
  readonly subscription?: object;
  /** Options of the pipeline, beside names. */
  readonly pipeline?: object;
  /** Other endpoints than those of the servers, by option. */
  readonly endpoints?: Readonly<Record<string, string>>;
  /** Added to the environment of the processes. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Of the processes, such as `--max-old-space-size=…`. */
  readonly nodeOptions?: readonly string[];
}

export class World {
  readonly ledger = new Ledger();
  readonly clock: PushedClock;
  readonly pubsub: PubSubEmulator;
  readonly bigquery: BigQueryEmulator;
  readonly #options: WorldOptions;
  readonly #processes: MillraceProcess[] = [];
  #columns: readonly object[];
  /** Most resident bytes of any process. */
  rssMax = 0;
  /** Messages that were published again with a new subscription. */
  republished = 0;

  private constructor(options: WorldOptions, clock: PushedClock, pubsub: PubSubEmulator, bigquery: BigQueryEmulator) {
    this.#options = options;
    this.#columns = options.columns ?? columns;
    this.clock = clock;
    this.pubsub = pubsub;
    this.bigquery = bigquery;
    pubsub.createTopic(topic);
    pubsub.createTopic(deadTopic);
    this.#createSubscription();
    pubsub.createSubscription({ name: deadSubscription, topic: deadTopic });
    bigquery.createTable(table, this.#columns);
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const clock = new PushedClock();
    const pubsub = await startPubSubEmulator({ clock, faults: options.faults?.pubsub ?? [] });
    const bigquery = await startBigQueryEmulator({ faults: options.faults?.bigquery ?? [] });
    return new World(options, clock, pubsub, bigquery);
  }

  get subscription(): SubscriptionHandle {
    return this.pubsub.subscription(subscription);
  }

  /** The process that runs now. */
  get millrace(): MillraceProcess {
    return this.#processes.at(-1)!;
  }

  /** Every process so far. */
  get processes(): readonly MillraceProcess[] {
    return this.#processes;
  }

  /** Messages that are not acked. */
  get unsettled(): number {
    return this.subscription.backlog + this.subscription.outstanding;
  }

  get rows(): number {
    return this.bigquery.rowCount(table);
  }

  get letters(): number {
    return this.pubsub.topic(deadTopic).published;
  }

  get hasAddedColumn(): boolean {
    return this.#columns.length > columns.length;
  }

  start(): MillraceProcess {
    const { pubsub, bigquery } = this;
    const config = {
      pipelines: [
        {
          name: "orders",
          subscription,
          bigquery: { table, useTableSchema: true },
          deadLetter: { topic: deadTopic },
          ...this.#options.pipeline,
        },
      ],
      service: { http: { port: 0 }, drainTimeout: "20s" },
      endpoints: {
        pubsub: `${pubsub.host}:${pubsub.port}`,
        bigquery: `http://${bigquery.host}:${bigquery.restPort}`,
        bigqueryStorage: `${bigquery.host}:${bigquery.storagePort}`,
        ...this.#options.endpoints,
      },
    };
    const { nodeOptions, variables } = this.#options;
    this.#processes.push(MillraceProcess.start(config, nodeOptions, { ...quickStart, ...variables }));
    return this.millrace;
  }

  publish(messages: readonly { readonly data: string; readonly orderingKey: string }[]): void {
    this.pubsub.publish(topic, messages);
  }

  /**
   * Ends the process without a word and starts another; the service lets go of what the dead one held.
   *
   * @returns how many messages the dead one had written and not acked
   */
  async kill(): Promise<number> {
    const atRisk = await this.cutOff(this.millrace);
    this.endLeases();
    this.start();
    return atRisk;
  }

  /** Ends a process without a word, and puts down what it had written and not acked. @returns how many messages that are */
  async cutOff(millrace: MillraceProcess): Promise<number> {
    this.measureMemory();
    millrace.signal("SIGKILL");
    await millrace.exit();
    await this.#lastRequests();
    return this.ledger.cutOff(this.#written(), this.#unackedNumbers());
  }

  /** Ends the process in good order and starts another. @returns its exit status */
  async restart(): Promise<number> {
    const code = await this.stop();
    this.start();
    return code;
  }

  /** Ends the process in good order, once it has begun: before that a signal ends it as any. @returns its exit status */
  async stop(): Promise<number> {
    await this.millrace.url();
    this.measureMemory();
    return this.millrace.stop();
  }

  /** Who has what, for a person to read. */
  async situation(): Promise<string> {
    const { outstanding, backlog } = this.subscription;
    const status = await fetch(`${await this.millrace.url()}/status`)
      .then((answer) => answer.text())
      .catch(String);
    return `the subscription has ${outstanding} messages handed out and ${backlog} waiting; the process says ${status}`;
  }

  /** The process holds nothing by its own account: leases that are left belong to nobody. */
  async isIdle(): Promise<boolean> {
    try {
      const status = (await (await fetch(`${await this.millrace.url()}/status`)).json()) as Status;
      return status.pipelines.every(({ outstanding }) => outstanding === 0);
    } catch {
      return false;
    }
  }

  /** Lets all leases run out. */
  endLeases(): void {
    this.clock.push(beyondLeasesMs);
  }

  addColumn(): void {
    this.#columns = [...this.#columns, { name: `added_${this.#columns.length}`, type: "STRING" }];
    this.bigquery.patchTable(table, this.#columns);
  }

  /** The rows of the old table go into the ledger. */
  recreateTable(): void {
    this.#takeRows();
    this.bigquery.deleteTable(table);
    this.bigquery.createTable(table, this.#columns);
  }

  /** A deleted subscription loses what it had; whoever does so publishes it again, from the new one on. */
  recreateSubscription(): void {
    const left = this.subscription.messages();
    this.pubsub.deleteSubscription(subscription);
    this.#createSubscription();
    this.republished += left.length;
    this.publish(left.map(({ data, orderingKey }) => ({ data: data.toString(), orderingKey })));
  }

  /** Everything that is in the table and in the dead-letter topic, told to the ledger. Once, at the end. */
  settleLedger(): void {
    this.#takeRows();
    this.ledger.takeLetters(this.#deadLetters.map(({ data }) => data.toString()));
  }

  async close(): Promise<void> {
    for (const millrace of this.#processes) {
      if (millrace.running) millrace.signal("SIGKILL");
      await millrace.exit();
    }
    await Promise.all([this.pubsub.close(), this.bigquery.close()]);
  }

  /** What a dead process had sent is taken in: it stands in the sockets' buffers. */
  #lastRequests(): Promise<void> {
    return new Promise((resolve) => {
      setTimeout(resolve, 25);
    });
  }

  *#written(): Generator<number> {
    for (const { number, rows } of this.ledger.entries) if (rows > 0) yield number;
    for (const row of this.bigquery.rows(table)) yield Number(row["id"]);
    for (const { data } of this.#deadLetters) yield numberIn(data.toString());
  }

  #unackedNumbers(): number[] {
    return this.subscription.messages().map(({ data }) => numberIn(data.toString()));
  }

  get #deadLetters(): readonly { readonly data: Buffer }[] {
    return this.pubsub.subscription(deadSubscription).messages();
  }

  #createSubscription(): void {
    this.pubsub.createSubscription({
      name: subscription,
      topic,
      ackDeadlineSeconds: 10,
      ...this.#options.subscription,
    });
  }

  #takeRows(): void {
    this.ledger.takeRows(this.bigquery.rows(table).map((row) => Number(row["id"])));
  }

  measureMemory(): void {
    this.rssMax = Math.max(this.rssMax, memoryOf(this.millrace.pid)?.peak ?? 0);
  }
}

interface Status {
  readonly pipelines: readonly { readonly outstanding: number }[];
}
