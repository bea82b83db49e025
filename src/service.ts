/**
 * The composition root: from a configuration to running pipelines, and back to rest. The only file that knows concrete parts.
 *
 * Order of the start: HTTP server, then per pipeline the table, then the subscription. Order of the stop: the pipelines
 * drain side by side (pipeline.ts), then the HTTP server closes.
 */
import type { Logger } from "pino";
import { BigQueryDestination } from "./bigquery/bigquery-destination.ts";
import { RefusalBreaker } from "./breaker/refusal-breaker.ts";
import { type Config, mappingOptionsOf } from "./config-file.ts";
import type { PipelineConfig } from "./config.ts";
import { DeadLetterTopic } from "./dead-letter/dead-letter-topic.ts";
import { DeduplicatedSource } from "./dedupe/deduplicated-source.ts";
import { IdMemory } from "./dedupe/id-memory.ts";
import { type HttpServer, startHttpServer } from "./http/server.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import type { Credentials } from "./lib/endpoint.ts";
import { sharesOf } from "./lib/memory-share.ts";
import { version } from "./lib/version.ts";
import { observeAppends, observeBreaker, observeDedupe, observePipeline, observePull } from "./observers.ts";
import { Pipeline } from "./pipeline.ts";
import type { Source } from "./source/source.ts";
import { StreamingPull } from "./source/streaming-pull.ts";
import { subscriptionDetails } from "./source/subscription-details.ts";
import { readinessOf } from "./telemetry/health.ts";
import { PipelineMetrics } from "./telemetry/metrics.ts";
import { type PipelineStatus, statusOf } from "./telemetry/status.ts";

/** What calls to Google are signed for: pulling and publishing, reading tables and appending. */
const scopes = ["https://www.googleapis.com/auth/pubsub", "https://www.googleapis.com/auth/bigquery"];

export interface ServiceOptions {
  readonly log: Logger;
  /** Serves probes, metrics and status as `service.http` says. */
  readonly serveHttp: boolean;
  readonly clock?: Clock;
}

interface RunningPipeline {
  readonly name: string;
  readonly pipeline: Pipeline;
  readonly metrics: PipelineMetrics;
}

export class Service {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #pipelines: readonly RunningPipeline[];
  readonly #failed = Promise.withResolvers<Error>();
  #live = true;
  #http: HttpServer | undefined;
  #drained: Promise<void> | undefined;

  /**
   * Starts the pipelines of a configuration. Remote faults do not fail the start: they hold their pipeline.
   *
   * @throws SetupError when the HTTP server's address cannot be had
   */
  static async start(config: Config, { log, serveHttp, clock = systemClock }: ServiceOptions): Promise<Service> {
    const credentials = await openCredentials(config);
    const pipelines = config.pipelines.map((pipeline) => assemble(pipeline, config, { log, clock, credentials }));
    const service = new Service(config, log, clock, pipelines);
    if (serveHttp) await service.#serve();
    for (const running of pipelines) service.#run(running);
    return service;
  }

  private constructor(config: Config, log: Logger, clock: Clock, pipelines: readonly RunningPipeline[]) {
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    this.#startedMs = clock.monotonic();
    this.#pipelines = pipelines;
  }

  /** Resolves with the cause when a pipeline has failed for good: a defect, after which the process should drain and end. */
  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /** Each pipeline with its state, reason and counts. */
  get pipelines(): PipelineStatus[] {
    return this.#pipelines.map((running) => statusOf(healthOf(running), running.metrics));
  }

  /** Drains all pipelines within `service.drainTimeout` and closes what is open. The same drain, however often it is asked for. */
  drain(): Promise<void> {
    this.#drained ??= this.#drain();
    return this.#drained;
  }

  async #drain(): Promise<void> {
    const { drainTimeout } = this.#config.service;
    this.#log.info({ timeoutMs: drainTimeout }, "draining");
    await Promise.all(this.#pipelines.map(({ pipeline }) => pipeline.drain(drainTimeout)));
    await this.#http?.close();
    for (const { name, metrics } of this.#pipelines) {
      const rows = metrics.total("appendedRows");
      const deadLetters = metrics.total("deadLetters");
      const givenBack = metrics.total("givenBackMessages");
      this.#log.info({ pipeline: name, rows, deadLetters, givenBack }, "pipeline drained");
    }
  }

  #run({ name, pipeline }: RunningPipeline): void {
    pipeline.run().catch((error: unknown) => {
      this.#live = false;
      this.#log.fatal({ pipeline: name, err: error }, "pipeline failed");
      this.#failed.resolve(error instanceof Error ? error : new Error(String(error)));
    });
  }

  async #serve(): Promise<void> {
    const { openPrometheusExport } = await import("./telemetry/prometheus.ts");
    const prometheus = await openPrometheusExport();
    for (const { metrics } of this.#pipelines) prometheus.show(metrics);
    const { host, port } = this.#config.service.http;
    this.#http = await startHttpServer(
      { host, port },
      {
        live: () => this.#live,
        ready: () => readinessOf(this.#pipelines.map(healthOf)),
        status: () => this.#status(),
        metrics: (request, response) => {
          for (const { pipeline, metrics } of this.#pipelines)
            metrics.set("active", Number(pipeline.state === "ACTIVE"));
          prometheus.serve(request, response);
        },
      },
    );
    this.#log.info({ host, port: this.#http.port }, "HTTP server listens");
  }

  #status(): object {
    const uptimeSeconds = Math.round((this.#clock.monotonic() - this.#startedMs) / 1000);
    return { version: version(), uptimeSeconds, pipelines: this.pipelines };
  }
}

interface Surroundings {
  readonly log: Logger;
  readonly clock: Clock;
  readonly credentials: Credentials | undefined;
}

function assemble(config: PipelineConfig, { endpoints }: Config, surroundings: Surroundings): RunningPipeline {
  const { name, subscription, bigquery, deadLetter, breaker, pull, leases, batch, append } = config;
  const metrics = new PipelineMetrics(name);
  const common = { ...surroundings, log: surroundings.log.child({ pipeline: name }) };
  const memory = sharesOf(pull.maxOutstandingBytes);
  const pulled = new StreamingPull({
    ...common,
    subscription,
    endpoint: endpoints.pubsub,
    observer: observePull(metrics),
    pull: { ...pull, maxOutstandingBytes: memory.messages },
    leases: {
      minDurationPerAckExtensionMs: leases.minDurationPerAckExtension,
      maxDurationPerAckExtensionMs: leases.maxDurationPerAckExtension,
      maxAckExtensionPeriodMs: leases.maxAckExtensionPeriod,
      releaseAfterMs: leases.releaseAfter,
    },
  });
  const destination = new BigQueryDestination({
    ...common,
    table: bigquery.table,
    mapping: mappingOptionsOf(config),
    delivery: config.delivery,
    restEndpoint: endpoints.bigquery,
    storageEndpoint: endpoints.bigqueryStorage,
    observer: observeAppends(metrics),
    batch: { maxBytes: batch.maxBytes, maxRows: batch.maxRows, maxDelayMs: batch.maxDelay },
    append,
    maxRowBytes: memory.rows,
    schemaRefreshIntervalMs: config.schemaRefreshInterval,
    refusedHoldsKey: deadLetter.topic === undefined,
  });
  const deadLetters =
    deadLetter.topic === undefined
      ? undefined
      : new DeadLetterTopic({
          ...common,
          topic: deadLetter.topic,
          maxLetterBytes: memory.letters,
          maxDeliveryAttempts: deadLetter.maxDeliveryAttempts,
          subscription,
          pipeline: name,
          endpoint: endpoints.pubsub,
          sourceTopic: (signal) => subscriptionDetails({ ...common, subscription, endpoint: endpoints.pubsub }, signal),
        });
  const pipeline = new Pipeline({
    source: deduplicated(pulled, config, metrics, common.clock),
    destination,
    deadLetters,
    breaker: breaker && new RefusalBreaker({ ...common, ...breaker, observer: observeBreaker(metrics) }),
    observer: observePipeline(metrics),
    clock: common.clock,
  });
  return { name, pipeline, metrics };
}

/** The source as it is, unless the configuration has `dedupe`. */
function deduplicated(
  source: Source,
  { dedupe, pull }: PipelineConfig,
  metrics: PipelineMetrics,
  clock: Clock,
): Source {
  if (!dedupe) return source;
  // A response may overshoot the limit.
  const maxUnderWay = 2 * pull.maxOutstandingMessages;
  const memory = new IdMemory({ windowMs: dedupe.window, maxIds: dedupe.maxIds, maxUnderWay });
  return new DeduplicatedSource(source, memory, clock, observeDedupe(metrics));
}

function healthOf({ name, pipeline }: RunningPipeline): { name: string; state: Pipeline["state"]; reason: string } {
  return { name, state: pipeline.state, reason: pipeline.stateReason };
}

/** Application Default Credentials; undefined, and not looked for, when every endpoint is plaintext. */
async function openCredentials({ endpoints }: Config): Promise<Credentials | undefined> {
  if (Object.values(endpoints).every(({ plaintext }) => plaintext)) return undefined;
  const { GoogleAuth } = await import("google-auth-library");
  return new GoogleAuth({ scopes });
}
