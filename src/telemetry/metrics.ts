/**
 * The catalogue of metrics, and what one pipeline has counted. Names are `millrace_<what>_<unit>`, counters end in `_total`; every
 * metric has the label `pipeline`; the values of others are few. docs/metrics.md is generated from the catalogue.
 */

export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  /** Labels besides `pipeline`. */
  readonly labels?: readonly string[];
}

export const counters = {
  receivedMessages: { name: "millrace_received_messages_total", help: "Messages that came from the subscription." },
  receivedBytes: { name: "millrace_received_bytes_total", help: "Bytes of those messages, as they came." },
  droppedResponses: {
    name: "millrace_dropped_responses_total",
    help: "Responses of the subscription that could not be read; their messages are delivered again.",
  },
  appendedRows: { name: "millrace_appended_rows_total", help: "Rows that BigQuery has stored." },
  appendedBytes: { name: "millrace_appended_bytes_total", help: "Bytes of those rows." },
  refusedMessages: {
    name: "millrace_refused_messages_total",
    help: "Messages that could not become a row, by code (errors.md).",
    labels: ["code"],
  },
  deadLetters: { name: "millrace_dead_letters_total", help: "Dead letters that were published." },
  failedDeadLetters: {
    name: "millrace_dead_letter_failures_total",
    help: "Dead letters that were not published, whose messages are given back: refused, circling, behind one of their key, stopping.",
    labels: ["why"],
  },
  ackedMessages: {
    name: "millrace_acked_messages_total",
    help: "Messages whose acknowledgement the service has taken.",
  },
  nackedMessages: { name: "millrace_nacked_messages_total", help: "Messages whose return the service has taken." },
  givenBackMessages: {
    name: "millrace_given_back_messages_total",
    help: "Messages that are given back without a row or a letter: refused without a dead-letter topic, or left over by a drain.",
  },
  breakerTrips: {
    name: "millrace_breaker_trips_total",
    help: "Times that the breaker stopped the pipeline because too many messages were refused.",
  },
  skippedDuplicates: {
    name: "millrace_duplicates_skipped_total",
    help: "Messages that came again and are acked without a second row (dedupe).",
  },
  failedAckMessages: {
    name: "millrace_ack_failures_total",
    help: "Messages whose ack, nack or extension was given up, by gRPC status; the service delivers them again.",
    labels: ["kind", "code"],
  },
  extendedMessages: {
    name: "millrace_lease_extended_messages_total",
    help: "Messages whose lease was extended, once per extension.",
  },
  extensionRequests: { name: "millrace_lease_extension_requests_total", help: "Requests that extend leases." },
  endedLeases: {
    name: "millrace_lease_ends_total",
    help: "Messages whose lease is extended no longer, by reason: limit (maxAckExtensionPeriod), released (releaseAfter), expired (perhaps: they lay unread, or the process stood still).",
    labels: ["reason"],
  },
  openedStreams: { name: "millrace_pull_stream_opens_total", help: "Streaming pull connections that were opened." },
  closedStreams: {
    name: "millrace_pull_stream_closes_total",
    help: "Streaming pull connections that ended, by gRPC status. UNAVAILABLE now and then is normal.",
    labels: ["code"],
  },
  retriedAppends: {
    name: "millrace_append_retries_total",
    help: "Append requests that are sent again, by reason.",
    labels: ["reason"],
  },
  writeStreams: {
    name: "millrace_write_streams_total",
    help: "exactlyOnce: write streams, by event: created, rotated (before BigQuery forgets it, or for another schema), sealed (finalized early, to find out what it has taken), finalized.",
    labels: ["event"],
  },
  alreadyStoredRows: {
    name: "millrace_already_stored_rows_total",
    help: "exactlyOnce: rows that turned out to be in the table after the answer to their append was lost.",
  },
  unknownRows: {
    name: "millrace_unknown_outcome_rows_total",
    help: "exactlyOnce: rows of which nobody can tell whether they are in the table; they are written, maybe again.",
  },
  schemaRefreshes: {
    name: "millrace_schema_refreshes_total",
    help: "Readings of the table's schema, by result.",
    labels: ["result"],
  },
} as const satisfies Record<string, MetricDefinition>;

export const gauges = {
  outstandingMessages: { name: "millrace_outstanding_messages", help: "Messages that are held and not settled." },
  outstandingBytes: { name: "millrace_outstanding_bytes", help: "Bytes of those messages." },
  leases: { name: "millrace_leases", help: "Batches of messages whose leases are kept." },
  appendsInFlight: { name: "millrace_append_requests_in_flight", help: "Append requests without an answer." },
  connections: { name: "millrace_append_connections", help: "Open append connections." },
  active: { name: "millrace_pipeline_active", help: "1 while the pipeline's state is ACTIVE, else 0." },
} as const satisfies Record<string, MetricDefinition>;

export const histograms = {
  publishToCommit: {
    name: "millrace_publish_to_commit_seconds",
    help: "From the publishing of the oldest message of a batch until the fate of the batch is known, once per batch.",
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400],
  },
  append: {
    name: "millrace_append_seconds",
    help: "From the sending of an append request to its answer.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  timeToAck: {
    name: "millrace_time_to_ack_seconds",
    help: "From the arrival of a batch to its settlement, once per batch.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600],
  },
} as const satisfies Record<string, MetricDefinition & { readonly buckets: readonly number[] }>;

export type CounterName = keyof typeof counters;
export type GaugeName = keyof typeof gauges;
export type HistogramName = keyof typeof histograms;

/** Takes the samples of the histograms; counts and gauges are read off when someone asks. */
export type Recorder = (histogram: HistogramName, seconds: number) => void;

/** No label has this character in a value. */
export const valueSeparator = "\u001f";

/** What one pipeline has counted since it started. Plain numbers: counting costs next to nothing. */
export class PipelineMetrics {
  readonly pipeline: string;
  readonly #counts = new Map<CounterName, Map<string, number>>();
  readonly #gauges = new Map<GaugeName, number>();
  #record: Recorder = () => undefined;

  constructor(pipeline: string) {
    this.pipeline = pipeline;
    for (const name of Object.keys(counters) as CounterName[]) {
      this.#counts.set(name, new Map("labels" in counters[name] ? [] : [["", 0]]));
    }
    for (const name of Object.keys(gauges) as GaugeName[]) this.#gauges.set(name, 0);
  }

  /** @param values of the counter's own labels, in their order */
  count(name: CounterName, amount: number, ...values: readonly string[]): void {
    const counts = this.#counts.get(name)!;
    const key = values.join(valueSeparator);
    counts.set(key, (counts.get(key) ?? 0) + amount);
  }

  set(name: GaugeName, value: number): void {
    this.#gauges.set(name, value);
  }

  record(name: HistogramName, seconds: number): void {
    this.#record(name, seconds);
  }

  /** Sends the samples of the histograms to `recorder` from now on. */
  recordTo(recorder: Recorder): void {
    this.#record = recorder;
  }

  /** The sum over all values of the labels. */
  total(name: CounterName): number {
    let sum = 0;
    for (const count of this.#counts.get(name)!.values()) sum += count;
    return sum;
  }

  /** Count by value of the counter's label; with several of them the values stand in one string, with `valueSeparator` between. */
  counts(name: CounterName): ReadonlyMap<string, number> {
    return this.#counts.get(name)!;
  }

  gauge(name: GaugeName): number {
    return this.#gauges.get(name)!;
  }
}
