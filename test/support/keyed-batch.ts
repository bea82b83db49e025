import type { MessageBatch } from "../../src/message.ts";
import { type Envelope, PayloadBatch } from "./payload-batch.ts";

export interface KeyedMessage {
  readonly payload: string;
  /** Empty: none. */
  readonly key: string;
  readonly id: string;
}

/** Messages each with an ordering key and an ID of its own. */
export class KeyedBatch extends PayloadBatch implements MessageBatch {
  readonly #messages: readonly KeyedMessage[];

  constructor(messages: readonly KeyedMessage[], envelope?: Envelope) {
    super(
      messages.map(({ payload }) => Buffer.from(payload)),
      envelope,
    );
    this.#messages = messages;
  }

  override get hasOrderingKeys(): boolean {
    return this.#messages.some(({ key }) => key !== "");
  }

  override orderingKey(i: number): string {
    return this.#messages[i]!.key;
  }

  override messageId(i: number): string {
    return this.#messages[i]!.id;
  }
}
