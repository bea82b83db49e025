/** A dead letter: a message that became no row, as it came, with the reason. */
import type { Refusal } from "../errors.ts";
import type { MessageBatch, PipelineState } from "../message.ts";

export interface DeadLetter {
  readonly batch: MessageBatch;
  /** Index of the message in its batch. */
  readonly message: number;
  readonly refusal: Refusal;
}

/** Published, or why not: then the message stays unacked. */
export type PublishResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface DeadLetterQueue {
  readonly state: PipelineState;
  /** One sentence for a person about a state other than ACTIVE; empty otherwise. */
  readonly stateReason: string;
  /** One result per letter, in order. Transient failures are retried inside. */
  publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]>;
  /** What is still waiting is not published. */
  close(): Promise<void>;
}
