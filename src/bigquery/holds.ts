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

const minute = 60_000;

/** After an outage, however long, it takes no longer than this until BigQuery is found to be back. */
const outageBackoff: BackoffBounds = { initialMs: 100, maxMs: 8000 };

/** Between tries of a single request. */
export const requestBackoff = outageBackoff;

/** Failures in a row after which a fault that mends itself is worth telling. */
export const patience = 3;

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
  reopen: { ...unavailable, backoff: outageBackoff, patience },
  refresh: { ...schemaMismatch, backoff: { initialMs: 500, maxMs: minute }, patience: 0 },
  quota: {
    state: "THROTTLED",
    reason: "a quota of BigQuery is used up (AppendRows throughput or connections): ask for more, or wait",
    backoff: { initialMs: 1000, maxMs: 10 * minute },
    patience: 0,
  },
};

/** What is done, and told, after a verdict that concerns every request. */
export function holdFor(verdict: HoldingVerdict): Hold {
  if (verdict.kind !== "setup") return fixedHolds[verdict.kind];
  return { state: verdict.state, reason: verdict.reason, backoff: { initialMs: 1000, maxMs: minute }, patience: 0 };
}
