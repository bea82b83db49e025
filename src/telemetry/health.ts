/** Whether the service can do its work, for probes and for people. */
import type { PipelineState } from "../message.ts";

export interface PipelineHealth {
  readonly name: string;
  readonly state: PipelineState;
  /** One sentence for a person; empty while all is well. */
  readonly reason: string;
}

export interface Readiness {
  readonly ready: boolean;
  /** The pipelines that are not active. */
  readonly reasons: readonly { readonly pipeline: string; readonly state: PipelineState; readonly reason: string }[];
}

/** Ready is a service whose pipelines are all active. */
export function readinessOf(pipelines: readonly PipelineHealth[]): Readiness {
  const held = pipelines.filter(({ state }) => state !== "ACTIVE");
  return {
    ready: held.length === 0,
    reasons: held.map(({ name, state, reason }) => ({ pipeline: name, state, reason })),
  };
}
