import type { Attributes, MessageBatch } from "../../src/message.ts";

/** What a message has beside its payload; the same for every message of the batch. */
export interface Envelope {
  readonly messageId: string;
  readonly publishTimeMicros: bigint;
  readonly attributes: Attributes;
  readonly orderingKey: string;
}

const bare: Envelope = { messageId: "1", publishTimeMicros: 0n, attributes: new Map(), orderingKey: "" };

/** Payloads one behind the other in one buffer, as a server response holds them. */
export class PayloadBatch implements MessageBatch {
  readonly bytes: Buffer;
  readonly length: number;
  readonly #ends: Uint32Array;
  readonly #envelope: Envelope;

  constructor(payloads: readonly Uint8Array[], envelope: Envelope = bare) {
    this.bytes = Buffer.concat(payloads);
    this.length = payloads.length;
    this.#ends = new Uint32Array(payloads.length);
    this.#envelope = envelope;
    let end = 0;
    for (const [i, payload] of payloads.entries()) this.#ends[i] = end += payload.length;
  }

  get byteLength(): number {
    return this.bytes.length;
  }

  get hasOrderingKeys(): boolean {
    return this.#envelope.orderingKey !== "";
  }

  dataStart(i: number): number {
    return i === 0 ? 0 : this.#ends[i - 1]!;
  }

  dataEnd(i: number): number {
    return this.#ends[i]!;
  }

  messageId(_message: number): string {
    return this.#envelope.messageId;
  }

  publishTimeMicros(): bigint {
    return this.#envelope.publishTimeMicros;
  }

  attributes(): Attributes {
    return this.#envelope.attributes;
  }

  orderingKey(_message: number): string {
    return this.#envelope.orderingKey;
  }

  deliveryAttempt(): number {
    return 0;
  }
}
