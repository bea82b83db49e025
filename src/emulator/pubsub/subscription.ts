/**
 * One subscription: who holds which message until when, and who gets the next ones. Pure but for the injected clock.
 *
 * Acks and nacks name a handing out by its number. A number that is unknown or was replaced by a later handing out is
 * ignored, as the service does without exactly-once delivery. A message whose lease ran out can still be acked until it
 * is handed out again.
 */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { AckIds } from "./ack-ids.ts";
import { Chain, unchain } from "./chain.ts";
import { DeadlineQueue } from "./deadline-queue.ts";
import { Delivery, OrderingKey, type Holder } from "./delivery.ts";
import { byteLength, type StoredMessage } from "./stored-message.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

/** One who waits for messages. */
export interface Consumer {
  readonly holder: Holder;
  /** Whether it can take a response now, flow control aside. */
  readonly ready: boolean;
  /** Takes messages that its holder holds from now on; never empty. */
  deliver(deliveries: readonly Delivery[]): void;
  /** The subscription is gone. */
  subscriptionDeleted(): void;
}

/** Publishes a message to the dead-letter topic; false when that cannot be, and the message stays. */
export type ForwardDeadLetter = (message: StoredMessage, attempts: number, settings: SubscriptionSettings) => boolean;

/** A response holds at most so many messages, and ends with the message that reaches so many bytes. */
const maxResponseMessages = 1000;
const maxResponseBytes = 1024 * 1024;

export class Subscription {
  settings: SubscriptionSettings;
  readonly ackIds: AckIds;
  readonly #clock: Clock;
  readonly #forward: ForwardDeadLetter;
  /** To be handed out: what was given back goes before what never was handed out. */
  readonly #returned = new Chain<Delivery | OrderingKey>();
  readonly #fresh = new Chain<Delivery | OrderingKey>();
  readonly #keys = new Map<string, OrderingKey>();
  readonly #byAckNumber = new Map<number, Delivery>();
  /** Ends of leases and of backoffs. */
  readonly #deadlines = new DeadlineQueue<Delivery | OrderingKey>();
  readonly #consumers: Consumer[] = [];
  #nextConsumer = 0;
  #lastAckNumber = 0;
  #held = 0;
  #unacked = 0;
  #distributing = false;
  #timer: Timer | undefined;
  #timerAtMs = Infinity;

  constructor(settings: SubscriptionSettings, ackIds: AckIds, clock: Clock, forward: ForwardDeadLetter) {
    this.settings = settings;
    this.ackIds = ackIds;
    this.#clock = clock;
    this.#forward = forward;
  }

  /** Messages that are handed out, with a lease that runs. */
  get outstanding(): number {
    return this.#held;
  }

  /** Messages that are neither acked nor handed out. */
  get backlog(): number {
    return this.#unacked - this.#held;
  }

  /** All messages that are not acked, in no particular order. */
  *unacked(): Iterable<StoredMessage> {
    for (const chain of [this.#returned, this.#fresh]) {
      for (const item of chain) if (item instanceof Delivery && item.ackNumber === 0) yield item.message;
    }
    for (const key of this.#keys.values()) {
      for (const delivery of key.waiting) if (delivery.ackNumber === 0) yield delivery.message;
    }
    for (const delivery of this.#byAckNumber.values()) yield delivery.message;
  }

  /** Takes newly published messages. */
  accept(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      const key = this.settings.ordered && message.orderingKey ? this.#key(message.orderingKey) : undefined;
      const delivery = new Delivery(message, key);
      if (key) {
        key.waiting.push(delivery);
        if (!key.chain) this.#queueKey(key);
      } else {
        this.#fresh.push(delivery);
      }
    }
    this.#unacked += messages.length;
    this.distribute();
  }

  /** From now on the consumer gets messages. */
  attach(consumer: Consumer): void {
    this.#consumers.push(consumer);
    this.distribute();
  }

  /** What the consumer holds stays held until acked, given back or run out. */
  detach(consumer: Consumer): void {
    const index = this.#consumers.indexOf(consumer);
    if (index >= 0) this.#consumers.splice(index, 1);
  }

  acknowledge(ackNumbers: readonly number[]): void {
    for (const number of ackNumbers) {
      const delivery = this.#byAckNumber.get(number);
      if (delivery) this.#acknowledge(delivery);
    }
    this.distribute();
  }

  /** @param seconds counted from now; 0 gives the message back (nack) */
  modifyDeadlines(ackNumbers: readonly number[], seconds: number): void {
    this.modifyDeadlinesEach(ackNumbers, () => seconds);
  }

  /** @param secondsAt the new deadline of the i-th number; 0 gives the message back */
  modifyDeadlinesEach(ackNumbers: readonly number[], secondsAt: (i: number) => number): void {
    const now = this.#clock.monotonic();
    for (const [i, number] of ackNumbers.entries()) {
      const delivery = this.#byAckNumber.get(number);
      if (!delivery) continue;
      const seconds = secondsAt(i);
      if (seconds === 0) this.#nack(delivery);
      else if (delivery.state === "held") this.#lease(delivery, now + seconds * 1000);
    }
    this.distribute();
  }

  /** Hands out messages to the consumers that can take some, by turns and in equal shares. */
  distribute(): void {
    if (this.#distributing) return;
    this.#distributing = true;
    while (this.#handOut());
    this.#distributing = false;
    this.#setTimer();
  }

  /** Tells the consumers that the subscription is gone, and frees everything. */
  delete(): void {
    this.#timer?.cancel();
    for (const consumer of this.#consumers.splice(0)) consumer.subscriptionDeleted();
    this.#byAckNumber.clear();
    this.#keys.clear();
  }

  /** Gives one consumer one response's worth; false when there is nobody or nothing. */
  #handOut(): boolean {
    if (this.#returned.length + this.#fresh.length === 0 && this.#keys.size === 0) return false;
    const takers = this.#consumers.filter((consumer) => consumer.ready && consumer.holder.hasRoom);
    const share = Math.ceil(this.backlog / takers.length);
    for (let turn = 0; turn < takers.length; turn++) {
      const consumer = takers[this.#nextConsumer++ % takers.length]!;
      const deliveries = this.#take(consumer.holder, Math.min(share, maxResponseMessages));
      if (deliveries.length === 0) continue;
      consumer.deliver(deliveries);
      return true;
    }
    return false;
  }

  #take(holder: Holder, maxMessages: number): Delivery[] {
    const until = this.#clock.monotonic() + holder.ackDeadlineMs;
    const publishedAfter = this.#clock.now() - this.settings.retentionMs;
    const taken: Delivery[] = [];
    let bytes = 0;
    while (taken.length < maxMessages && bytes < maxResponseBytes && holder.hasRoom) {
      const delivery = this.#next(holder);
      if (!delivery) break;
      if (delivery.message.publication.publishTimeMs < publishedAfter) {
        this.#drop(delivery);
        continue;
      }
      this.#handTo(delivery, holder, until);
      bytes += byteLength(delivery.message);
      taken.push(delivery);
    }
    return taken;
  }

  /** The next message for this holder, out of its queue. */
  #next(holder: Holder): Delivery | undefined {
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

  #handTo(delivery: Delivery, holder: Holder, untilMs: number): void {
    if (delivery.ackNumber > 0) this.#byAckNumber.delete(delivery.ackNumber);
    delivery.ackNumber = ++this.#lastAckNumber;
    this.#byAckNumber.set(delivery.ackNumber, delivery);
    delivery.state = "held";
    delivery.failed = false;
    delivery.holder = holder;
    holder.messages++;
    holder.bytes += byteLength(delivery.message);
    this.#held++;
    this.#deadlines.schedule(delivery, untilMs);
  }

  #lease(delivery: Delivery, untilMs: number): void {
    unchain(delivery);
    this.#deadlines.schedule(delivery, untilMs);
  }

  /** Ends a lease, whatever for. */
  #release(delivery: Delivery): void {
    if (delivery.state !== "held") return;
    unchain(delivery);
    delivery.holder!.messages--;
    delivery.holder!.bytes -= byteLength(delivery.message);
    this.#held--;
  }

  #acknowledge(delivery: Delivery): void {
    const { key } = delivery;
    if (!key) {
      this.#finish(delivery);
    } else if (delivery.state === "held") {
      this.#release(delivery);
      delivery.state = "acked-early";
      while (key.handedOut[0]?.state === "acked-early") this.#finish(key.handedOut.shift()!);
      this.#queueKey(key);
    }
  }

  #nack(delivery: Delivery): void {
    if (delivery.state === "held") this.#fail(delivery);
    // Taken back with an earlier message of its key: this handing out failed too.
    else if (delivery.state === "waiting" && delivery.key && !delivery.failed) this.#countFailure(delivery);
  }

  /** A nack, or a lease that ran out. */
  #fail(delivery: Delivery): void {
    this.#takeBack(delivery);
    if (this.#countFailure(delivery)) return;
    const backoffMs = this.#backoffMs(delivery.failures);
    const item = delivery.key ?? delivery;
    if (backoffMs > 0) this.#backOff(item, backoffMs);
    else if (item instanceof OrderingKey) this.#queueKey(item);
    else this.#returned.push(item);
  }

  /** Ends the lease; of a key, also those of all later messages, acked or not, so that they follow in order again. */
  #takeBack(delivery: Delivery): void {
    const { key } = delivery;
    const takenBack = key ? key.handedOut.splice(key.handedOut.indexOf(delivery)) : [delivery];
    for (const later of takenBack.toReversed()) {
      this.#release(later);
      later.state = "waiting";
      key?.waiting.unshift(later);
    }
  }

  /** Counts the failure; true when that was one too many and the message went to the dead-letter topic. */
  #countFailure(delivery: Delivery): boolean {
    delivery.failures++;
    delivery.failed = true;
    const { deadLetter } = this.settings;
    if (!deadLetter || delivery.failures < deadLetter.maxDeliveryAttempts) return false;
    if (!this.#forward(delivery.message, delivery.failures, this.settings)) return false;
    this.#finish(delivery);
    if (delivery.key) this.#queueKey(delivery.key);
    return true;
  }

  /** The pause doubles with every failure of the message (RETRY-03), without jitter: tests can foretell it. */
  #backoffMs(failures: number): number {
    const { retry } = this.settings;
    return retry ? Math.min(retry.maxBackoffMs, retry.minBackoffMs * 2 ** (failures - 1)) : 0;
  }

  #backOff(item: Delivery | OrderingKey, backoffMs: number): void {
    if (item instanceof OrderingKey) {
      if (item.backingOff) return;
      item.backingOff = true;
      unchain(item);
    } else {
      item.state = "backing-off";
    }
    this.#deadlines.schedule(item, this.#clock.monotonic() + backoffMs);
  }

  /** Puts a key where its next message will be found: with its owner while any is handed out, else with everyone. */
  #queueKey(key: OrderingKey): void {
    if (key.handedOut.length === 0) key.owner = undefined;
    if (key.waiting.length === 0) {
      unchain(key);
      key.backingOff = false;
      if (!key.owner) this.#keys.delete(key.name);
    } else if (!key.backingOff) {
      const everyone = key.waiting.first!.ackNumber > 0 ? this.#returned : this.#fresh;
      const queue: Chain<Delivery | OrderingKey> = key.owner?.keys ?? everyone;
      if (key.chain === queue) return;
      unchain(key);
      queue.push(key);
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

  /** The message is older than the subscription keeps messages (COMMON-02). */
  #drop(delivery: Delivery): void {
    this.#finish(delivery);
    if (!delivery.key) return;
    delivery.key.handedOut.pop();
    this.#queueKey(delivery.key);
  }

  /** The subscription is done with the message. */
  #finish(delivery: Delivery): void {
    this.#release(delivery);
    unchain(delivery);
    delivery.state = "done";
    this.#byAckNumber.delete(delivery.ackNumber);
    this.#unacked--;
  }

  #setTimer(): void {
    const at = this.#deadlines.nextAtMs();
    if (at >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = at;
    this.#timer = this.#clock.setTimer(() => this.#fallDue(), at - this.#clock.monotonic());
  }

  #fallDue(): void {
    this.#timerAtMs = Infinity;
    const now = this.#clock.monotonic();
    for (let item = this.#deadlines.shiftDue(now); item; item = this.#deadlines.shiftDue(now)) {
      if (item instanceof OrderingKey) {
        item.backingOff = false;
        this.#queueKey(item);
      } else if (item.state === "held") {
        // Out of its bucket already, but the lease is still counted.
        this.#fail(item);
      } else {
        item.state = "waiting";
        this.#returned.push(item);
      }
    }
    this.distribute();
  }
}
