import type { Outcomes, PipelineState } from "../message.ts";

/** What keeps a pipeline from draining its topic into dead letters. */
export interface Breaker {
  /** TRIPPED or ACTIVE. */
  readonly state: PipelineState;
  /** One sentence for a person about a state other than ACTIVE; empty otherwise. */
  readonly stateReason: string;
  /** A batch of so many messages was taken. Resolves when the next one may be, or when `signal` is aborted. */
  taken(messages: number, signal: AbortSignal): Promise<void>;
  /** What became of a batch that was taken. */
  judge(outcomes: Outcomes): void;
}
