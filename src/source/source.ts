import type { Fates, MessageBatch, PipelineState } from "../message.ts";

/** What a pipeline may ask of a subscription. */
export interface Source {
  /** Resolves when the subscription answers; remote faults hold it back (see `state`) and are retried inside. */
  open(signal: AbortSignal): Promise<void>;
  readonly state: PipelineState;
  /** One sentence for a person about a state other than ACTIVE; empty otherwise. */
  readonly stateReason: string;
  /** Batches as the server sent them, each leased until it is settled. Ends when `signal` is aborted: pulling stops, leases go on. */
  batches(signal: AbortSignal): AsyncIterable<MessageBatch>;
  /** Acks and gives back the messages of a batch that came from `batches`. Resolves when the service has taken it. */
  settle(batch: MessageBatch, fates: Fates): Promise<void>;
  /** Sends what is still to be sent, gives back what is still held, and closes. */
  close(): Promise<void>;
}
