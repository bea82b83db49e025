/** What the rooms tell about their work, counted as the metrics of one pipeline. */
import type { AppendObserver } from "./bigquery/append-observer.ts";
import type { BreakerObserver } from "./breaker/refusal-breaker.ts";
import type { DedupeObserver } from "./dedupe/deduplicated-source.ts";
import type { PipelineObserver } from "./pipeline.ts";
import type { PullObserver } from "./source/pull-observer.ts";
import type { PipelineMetrics } from "./telemetry/metrics.ts";

/** Counts the work of a subscription. */
export function observePull(metrics: PipelineMetrics): PullObserver {
  return {
    received(messages, bytes) {
      metrics.count("receivedMessages", messages);
      metrics.count("receivedBytes", bytes);
    },
    responseDropped: () => metrics.count("droppedResponses", 1),
    acked: (messages) => metrics.count("ackedMessages", messages),
    nacked: (messages) => metrics.count("nackedMessages", messages),
    extended(messages) {
      metrics.count("extendedMessages", messages);
      metrics.count("extensionRequests", 1);
    },
    requestFailed: (kind, messages, code) => metrics.count("failedAckMessages", messages, kind, code),
    leaseEnded: (messages, reason) => metrics.count("endedLeases", messages, reason),
    streamOpened: () => metrics.count("openedStreams", 1),
    streamClosed: (code) => metrics.count("closedStreams", 1, code),
    outstanding(messages, bytes, leases) {
      metrics.set("outstandingMessages", messages);
      metrics.set("outstandingBytes", bytes);
      metrics.set("leases", leases);
    },
    timeToAck: (seconds) => metrics.record("timeToAck", seconds),
  };
}

/** Counts the way of rows into the table. */
export function observeAppends(metrics: PipelineMetrics): AppendObserver {
  return {
    appended(rows, bytes, seconds) {
      metrics.count("appendedRows", rows);
      metrics.count("appendedBytes", bytes);
      metrics.record("append", seconds);
    },
    committed: (_, seconds) => metrics.record("publishToCommit", seconds),
    refused: (code, messages) => metrics.count("refusedMessages", messages, code),
    retried: (reason, requests) => metrics.count("retriedAppends", requests, reason),
    inFlight: (requests) => metrics.set("appendsInFlight", requests),
    connections: (count) => metrics.set("connections", count),
    writeStream: (event) => metrics.count("writeStreams", 1, event),
    alreadyStored: (rows) => metrics.count("alreadyStoredRows", rows),
    outcomeUnknown: (rows) => metrics.count("unknownRows", rows),
    schemaRefreshed: (result) => metrics.count("schemaRefreshes", 1, result),
  };
}

/** Counts letters, and messages that are given back. */
export function observePipeline(metrics: PipelineMetrics): PipelineObserver {
  return {
    deadLettered: (letters) => metrics.count("deadLetters", letters),
    letterFailed: (why) => metrics.count("failedDeadLetters", 1, why),
    givenBack: (messages) => metrics.count("givenBackMessages", messages),
  };
}

/** Counts duplicates. */
export function observeDedupe(metrics: PipelineMetrics): DedupeObserver {
  return { skipped: (messages) => metrics.count("skippedDuplicates", messages) };
}

/** Counts how often the breaker trips. */
export function observeBreaker(metrics: PipelineMetrics): BreakerObserver {
  return { tripped: () => metrics.count("breakerTrips", 1) };
}
