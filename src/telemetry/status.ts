/** What `/status` shows of a pipeline. */
import type { PipelineHealth } from "./health.ts";
import type { PipelineMetrics } from "./metrics.ts";

export interface PipelineStatus extends PipelineHealth {
  readonly received: number;
  readonly appended: number;
  readonly refused: Readonly<Record<string, number>>;
  readonly deadLettered: number;
  readonly acked: number;
  readonly outstanding: number;
}

/** Counts are those since the start of the process. */
export function statusOf(health: PipelineHealth, metrics: PipelineMetrics): PipelineStatus {
  return {
    ...health,
    received: metrics.total("receivedMessages"),
    appended: metrics.total("appendedRows"),
    refused: Object.fromEntries(metrics.counts("refusedMessages")),
    deadLettered: metrics.total("deadLetters"),
    acked: metrics.total("ackedMessages"),
    outstanding: metrics.gauge("outstandingMessages"),
  };
}
