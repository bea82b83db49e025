import type { MessageBatch, Outcomes, PipelineState } from "./message.ts";

/** What a pipeline may ask of the place it writes to. */
export interface Destination {
  /** Resolves when messages can be delivered; remote faults hold it back (see `state`) and are retried inside. */
  open(signal: AbortSignal): Promise<void>;
  readonly state: PipelineState;
  /** One sentence for a person about a state other than ACTIVE; empty otherwise. */
  readonly stateReason: string;
  /** Resolves when the fate of every message is known. Transient failures are retried inside; aborting `signal` abandons. */
  deliver(batch: MessageBatch, signal: AbortSignal): Promise<Outcomes>;
  /** Sends what is waiting, without delay, and resolves when nothing is in flight or `deadlineMs` of the clock is reached. */
  drain(deadlineMs: number): Promise<void>;
  /** Closes connections. What is still waiting is abandoned. */
  close(): Promise<void>;
}
