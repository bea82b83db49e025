/** A dead letter: a message that became no row, as it came, with the reason. */
import type { Refusal } from "../errors.ts";
import type { MessageBatch } from "../message.ts";

export interface DeadLetter {
  readonly batch: MessageBatch;
  /** Index of the message in its batch. */
  readonly message: number;
  readonly refusal: Refusal;
}

/** Published, or why not: then the message stays unacked. */
export type PublishResult = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export interface DeadLetterQueue {
  /** One result per letter, in order. Transient failures are retried inside. */
  publish(letters: readonly DeadLetter[]): Promise<readonly PublishResult[]>;
  close(): Promise<void>;
}
