/** Those who wait for messages of one subscription, and whose turn it is. */
import type { RpcError } from "../rpc-error.ts";
import type { Delivery, Holder } from "./delivery.ts";

/** One who waits for messages. */
export interface Consumer {
  readonly holder: Holder;
  /** Whether it can take a response now, flow control aside. */
  readonly ready: boolean;
  /** Takes messages that its holder holds from now on; never empty. */
  deliver(deliveries: readonly Delivery[]): void;
  /** The subscription is gone, or was detached from its topic. */
  subscriptionEnded(reason: RpcError): void;
}

export class Consumers {
  readonly #all: Consumer[] = [];
  #turn = 0;

  get count(): number {
    return this.#all.length;
  }

  add(consumer: Consumer): void {
    this.#all.push(consumer);
  }

  remove(consumer: Consumer): void {
    const index = this.#all.indexOf(consumer);
    if (index >= 0) this.#all.splice(index, 1);
  }

  removeAll(): Consumer[] {
    return this.#all.splice(0);
  }

  /** Those that can take messages now; every call begins with another one. */
  takers(): Consumer[] {
    const able = this.#all.filter((consumer) => consumer.ready && consumer.holder.hasRoom);
    const first = this.#turn++ % Math.max(able.length, 1);
    return [...able.slice(first), ...able.slice(0, first)];
  }
}
