/**
 * The order in which a subscription's messages are handed out: as published, but what was given back goes first. With
 * ordering, a key's messages follow each other, and all go to one holder while any of them is handed out.
 */
import { Chain, unchain } from "./chain.ts";
import { Delivery, OrderingKey, type Holder } from "./delivery.ts";
import type { StoredMessage } from "./stored-message.ts";

/** What waits in a queue: a message without a key, or a key with messages. */
export type Queued = Delivery | OrderingKey;

export class MessageQueue {
  readonly #ordered: boolean;
  readonly #returned = new Chain<Queued>();
  readonly #fresh = new Chain<Queued>();
  readonly #keys = new Map<string, OrderingKey>();

  constructor(ordered: boolean) {
    this.#ordered = ordered;
  }

  /** Whether there is surely nothing to hand out. */
  get isEmpty(): boolean {
    return this.#returned.length + this.#fresh.length + this.#keys.size === 0;
  }

  /** A newly published message. */
  add(message: StoredMessage): void {
    const key = this.#ordered && message.orderingKey ? this.#key(message.orderingKey) : undefined;
    const delivery = new Delivery(message, key);
    if (!key) return this.#fresh.push(delivery);
    key.waiting.push(delivery);
    if (!key.chain) this.requeue(key);
  }

  /** The next message for this holder, out of its queue. */
  next(holder: Holder): Delivery | undefined {
    holder.ownKeysNext = !holder.ownKeysNext;
    const own = holder.ownKeysNext ? holder.keys.shift() : undefined;
    const item = own ?? this.#returned.shift() ?? this.#fresh.shift() ?? holder.keys.shift();
    if (!(item instanceof OrderingKey)) return item;
    const delivery = item.waiting.shift()!;
    item.owner = holder;
    item.handedOut.push(delivery);
    if (item.waiting.length > 0) holder.keys.push(item);
    return delivery;
  }

  /** What was given back is to be handed out again. */
  giveBack(item: Queued): void {
    if (item instanceof OrderingKey) this.requeue(item);
    else this.#returned.push(item);
  }

  /**
   * Puts a key, after any change to it, where its next message will be found: with its owner while any message is handed
   * out, else with everyone; nowhere while it backs off or has nothing left.
   */
  requeue(key: OrderingKey): void {
    if (key.handedOut.length === 0) key.owner = undefined;
    if (key.waiting.length === 0) {
      unchain(key);
      key.backingOff = false;
      if (!key.owner) this.#keys.delete(key.name);
    } else if (!key.backingOff) {
      const everyone = key.waiting.first!.ackNumber > 0 ? this.#returned : this.#fresh;
      const queue: Chain<Queued> = key.owner?.keys ?? everyone;
      if (key.chain === queue) return;
      unchain(key);
      queue.push(key);
    }
  }

  /** Forgets everything that waits, and all keys. */
  clear(): void {
    for (const item of [...this.#returned, ...this.#fresh, ...this.#keys.values()]) unchain(item);
    this.#keys.clear();
  }

  /** The messages that were never handed out. */
  *untouched(): Iterable<StoredMessage> {
    for (const item of this.#fresh) if (item instanceof Delivery) yield item.message;
    for (const key of this.#keys.values()) {
      for (const delivery of key.waiting) if (delivery.ackNumber === 0) yield delivery.message;
    }
  }

  #key(name: string): OrderingKey {
    let key = this.#keys.get(name);
    if (!key) {
      key = new OrderingKey(name);
      this.#keys.set(name, key);
    }
    return key;
  }
}
