/** How long requests wait after a failure, and what a person is told meanwhile. */
import type { PipelineState } from "../message.ts";
import type { BackoffBounds } from "../lib/retry.ts";
import type { AppendVerdict } from "./append-error.ts";
import type { Hold } from "./send-gate.ts";

/** What keeps rows from being written. */
export interface Trouble {
  readonly state: PipelineState;
  /** One sentence for a person. */
  readonly reason: string;
}

/** However long an outage or a fault of the table was, it takes no longer than this until it is found to be mended. */
const maxPauseMs = 5000;

/** Between tries of a single request. */
export const requestBackoff: BackoffBounds = { initialMs: 100, maxMs: maxPauseMs };

/** Milliseconds until the next try of what has failed for so long: half of that. */
export function pauseAfter(failingMs: number): number {
  return Math.min(Math.max(failingMs / 2, requestBackoff.initialMs), maxPauseMs);
}

/** Failures in a row after which a fault that mends itself is worth telling. */
export const patience = 3;

/** So long a search for bad rows may find nothing before it is worth telling. */
export const patienceMs = 5000;

/** A single request that fails for so long is worth telling, although others pass. */
export const longMs = 60_000;

export const unavailable: Trouble = {
  state: "UNAVAILABLE",
  reason: "BigQuery does not answer appends",
};

export const schemaMismatch: Trouble = {
  state: "SCHEMA_MISMATCH",
  reason: "BigQuery says that rows do not fit the table, which by its schema they do; they are tried again",
};

export const unnamedRefusals: Trouble = {
  state: "SCHEMA_MISMATCH",
  reason: "BigQuery refuses rows without naming one, and has taken no other since; they are tried again",
};

/** A verdict that concerns every request. */
export type HoldingVerdict = Extract<AppendVerdict, { kind: "reopen" | "refresh" | "quota" | "setup" }>;

const fixedHolds: Record<Exclude<HoldingVerdict["kind"], "setup">, Hold> = {
  reopen: { ...unavailable, backoff: requestBackoff, patience },
  refresh: { ...schemaMismatch, backoff: { initialMs: 500, maxMs: maxPauseMs }, patience: 0 },
  quota: {
    state: "THROTTLED",
    reason:
      "a quota of BigQuery is used up (AppendRows throughput, connections or CreateWriteStream): ask for more, or wait",
    backoff: { initialMs: 1000, maxMs: 600_000 },
    patience: 0,
  },
};

/** What is done, and told, after a verdict that concerns every request. */
export function holdFor(verdict: HoldingVerdict): Hold {
  if (verdict.kind !== "setup") return fixedHolds[verdict.kind];
  return { state: verdict.state, reason: verdict.reason, backoff: { initialMs: 1000, maxMs: maxPauseMs }, patience: 0 };
}
