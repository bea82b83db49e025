/**
 * Servers, resources and a running Millrace for the behaviour suite: topics, subscriptions and tables with names of
 * their own, so that tests can share the servers.
 */
import { BigQueryClient, type Row } from "./bigquery-client.ts";
import { eventually } from "./eventually.ts";
import { MillraceProcess } from "./millrace-process.ts";
import { PubSubClient, type ReceivedMessage } from "./pubsub-client.ts";
import type { BigQueryAddress } from "./server-pairs.ts";

/** Where a suite's servers are. */
export interface Servers {
  /** `host:port` of a Pub/Sub server. */
  readonly pubsub: string;
  readonly bigquery: BigQueryAddress;
}

let serial = 0;

export class PipelineHarness {
  readonly name: string;
  readonly topic: string;
  readonly subscription: string;
  readonly deadLetterTopic: string;
  readonly deadLetterSubscription: string;
  readonly table: string;
  readonly pubsub: PubSubClient;
  readonly bigquery: BigQueryClient;
  readonly #servers: Servers;
  readonly #processes: MillraceProcess[] = [];
  readonly #letters: ReceivedMessage[] = [];

  private constructor(servers: Servers) {
    this.name = `pipeline-${process.pid}-${++serial}`;
    this.topic = `projects/test/topics/${this.name}`;
    this.subscription = `projects/test/subscriptions/${this.name}`;
    this.deadLetterTopic = `projects/test/topics/${this.name}-dead`;
    this.deadLetterSubscription = `projects/test/subscriptions/${this.name}-dead`;
    this.table = `test.behaviour.t_${process.pid}_${serial}`;
    this.pubsub = new PubSubClient(servers.pubsub);
    this.bigquery = new BigQueryClient(`http://${servers.bigquery.host}:${servers.bigquery.restPort}`);
    this.#servers = servers;
  }

  /** Makes topics, subscriptions and, unless `fields` is null, the table. */
  static async create(servers: Servers, fields: readonly object[] | null): Promise<PipelineHarness> {
    const harness = new PipelineHarness(servers);
    await harness.pubsub.createTopic(harness.topic);
    await harness.pubsub.createTopic(harness.deadLetterTopic);
    await harness.pubsub.createSubscription(harness.subscription, harness.topic);
    await harness.pubsub.createSubscription(harness.deadLetterSubscription, harness.deadLetterTopic);
    if (fields) await harness.createTable(fields);
    return harness;
  }

  /** Makes the pipeline's table, for tests that began without it. */
  async createTable(fields: readonly object[]): Promise<void> {
    await this.bigquery.createTable(this.table, fields);
    await this.#servers.bigquery.openDefaultStream?.(this.table);
  }

  /** The configuration of one pipeline over everything this harness made; `pipeline` replaces parts of it. */
  config(pipeline: object = {}): object {
    const { pubsub, bigquery } = this.#servers;
    return {
      pipelines: [
        {
          name: this.name,
          subscription: this.subscription,
          bigquery: { table: this.table, useTableSchema: true },
          deadLetter: { topic: this.deadLetterTopic },
          ...pipeline,
        },
      ],
      service: { http: { port: 0 } },
      endpoints: {
        pubsub,
        bigquery: `http://${bigquery.host}:${bigquery.restPort}`,
        bigqueryStorage: `${bigquery.host}:${bigquery.storagePort}`,
      },
    };
  }

  start(pipeline: object = {}): MillraceProcess {
    const millrace = MillraceProcess.start(this.config(pipeline));
    this.#processes.push(millrace);
    return millrace;
  }

  publish(payloads: readonly (string | Buffer)[]): Promise<string[]> {
    return this.pubsub.publish(
      this.topic,
      payloads.map((payload) => ({ data: Buffer.from(payload) })),
    );
  }

  /** The dead letters so far; each is acked when it is first seen. */
  async deadLetters(): Promise<readonly ReceivedMessage[]> {
    this.#letters.push(...(await this.pubsub.take(this.deadLetterSubscription)));
    return this.#letters;
  }

  /** Waits until that many rows are in the table and that many letters in the dead-letter topic, and returns both. */
  arrived(
    rows: number,
    letters: number,
    timeoutMs = 40_000,
  ): Promise<{ rows: Row[]; letters: readonly ReceivedMessage[] }> {
    const seen = { rows: -1, letters: -1 };
    return eventually(
      `${rows} rows and ${letters} dead letters`,
      async () => {
        const found = { rows: await this.bigquery.rows(this.table), letters: await this.deadLetters() };
        seen.rows = found.rows.length;
        seen.letters = found.letters.length;
        if (seen.rows >= rows && seen.letters >= letters) return found;
        throw new Error(`so far ${seen.rows} rows and ${seen.letters} dead letters`);
      },
      timeoutMs,
    );
  }

  /** Ends what still runs and deletes the subscriptions, so that a server need not keep their messages. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.filter((millrace) => millrace.running).map((millrace) => millrace.stop()));
    await this.pubsub.deleteSubscription(this.subscription);
    await this.pubsub.deleteSubscription(this.deadLetterSubscription);
    this.pubsub.close();
  }
}
