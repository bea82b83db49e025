import type { Consumer } from "../../src/emulator/pubsub/consumers.ts";
import { Holder, type Delivery } from "../../src/emulator/pubsub/delivery.ts";
import type { RpcError } from "../../src/emulator/rpc-error.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { decodeMessage } from "../../src/emulator/pubsub/stored-message.ts";

/** One handing out, as it was at that time. */
export interface HandedOut {
  readonly text: string;
  readonly ackNumber: number;
  readonly attempt: number;
  readonly messageId: string;
  /** By the monotonic clock that the consumer was given; else 0. */
  readonly atMs: number;
}

/** A consumer that writes down what it gets. */
export class FakeConsumer implements Consumer {
  readonly holder: Holder;
  ready = true;
  /** Why the subscription ended, if it did. */
  ended: RpcError | undefined;
  /** The batches, in the order in which they came. */
  readonly batches: HandedOut[][] = [];
  #seen = 0;

  readonly #clock: Clock | undefined;

  constructor(options: { ackDeadlineMs?: number; maxMessages?: number; maxBytes?: number; clock?: Clock } = {}) {
    this.#clock = options.clock;
    this.holder = new Holder(options.ackDeadlineMs ?? 10_000, options.maxMessages, options.maxBytes);
  }

  deliver(deliveries: readonly Delivery[]): void {
    const atMs = this.#clock?.monotonic() ?? 0;
    this.batches.push(
      deliveries.map((delivery) => {
        const { data, messageId } = decodeMessage(delivery.message);
        return {
          text: data.toString(),
          ackNumber: delivery.ackNumber,
          attempt: delivery.failures + 1,
          messageId,
          atMs,
        };
      }),
    );
  }

  subscriptionEnded(reason: RpcError): void {
    this.ended = reason;
  }

  get received(): readonly HandedOut[] {
    return this.batches.flat();
  }

  /** The texts that came since the last call. */
  newTexts(): string[] {
    const fresh = this.received.slice(this.#seen);
    this.#seen += fresh.length;
    return fresh.map(({ text }) => text);
  }

  /** The latest handing out of the message with this text. */
  latest(text: string): number {
    const found = this.received.findLast((handedOut) => handedOut.text === text);
    if (!found) throw new Error(`The consumer never got "${text}"`);
    return found.ackNumber;
  }
}
