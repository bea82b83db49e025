/** A dead letter: a message that became no row, as it came, with the reason. */
import type { Refusal } from "../errors.ts";
import type { MessageBatch, PipelineState } from "../message.ts";

export interface DeadLetter {
  readonly batch: MessageBatch;
  /** Index of the message in its batch. */
  readonly message: number;
  readonly refusal: Refusal;
}

/**
 * Why a letter is not published:
 * - `refused`: the topic takes it in no form
 * - `circling`: the message came back as a letter of ours too often
 * - `behind`: an earlier letter of its ordering key is not published
 * - `stopping`: there was no time, or no hope, for it before the end
 */
export type LetterFailure = "refused" | "circling" | "behind" | "stopping";

/** Published, or why not: then the message stays unacked. */
export type PublishResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: LetterFailure; readonly reason: string };

export interface DeadLetterQueue {
  /** Resolves when messages may be pulled: their letters would not come back as messages, as far as that can be seen. */
  open(signal: AbortSignal): Promise<void>;
  readonly state: PipelineState;
  /** One sentence for a person about a state other than ACTIVE; empty otherwise. */
  readonly stateReason: string;
  /** One result per letter, in order. Transient failures are retried inside. */
  publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]>;
  /** The end is near: what only a person can mend is waited for no longer, what passes by itself still is. */
  drain(): void;
  /** What is still waiting is not published. */
  close(): Promise<void>;
}
