import type { Attributes, MessageBatch } from "../message.ts";

/** Some messages of a batch, as a batch of their own. */
export class PickedBatch implements MessageBatch {
  readonly #batch: MessageBatch;
  readonly #picked: Int32Array;

  /** @param picked indices in the batch, in order */
  constructor(batch: MessageBatch, picked: Int32Array) {
    this.#batch = batch;
    this.#picked = picked;
  }

  get length(): number {
    return this.#picked.length;
  }

  get bytes(): Buffer {
    return this.#batch.bytes;
  }

  get byteLength(): number {
    return this.#batch.byteLength;
  }

  get hasOrderingKeys(): boolean {
    return this.#batch.hasOrderingKeys;
  }

  dataStart(i: number): number {
    return this.#batch.dataStart(this.#picked[i]!);
  }

  dataEnd(i: number): number {
    return this.#batch.dataEnd(this.#picked[i]!);
  }

  messageId(i: number): string {
    return this.#batch.messageId(this.#picked[i]!);
  }

  publishTimeMicros(i: number): bigint {
    return this.#batch.publishTimeMicros(this.#picked[i]!);
  }

  attributes(i: number): Attributes {
    return this.#batch.attributes(this.#picked[i]!);
  }

  orderingKey(i: number): string {
    return this.#batch.orderingKey(this.#picked[i]!);
  }

  deliveryAttempt(i: number): number {
    return this.#batch.deliveryAttempt(this.#picked[i]!);
  }
}
