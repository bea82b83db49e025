/** One subscription: its messages, those who want them, and who gets the next ones. Pure but for the injected clock. */
import type { Clock } from "../../lib/clock.ts";
import type { AckIds } from "./ack-ids.ts";
import { Consumers, type Consumer } from "./consumers.ts";
import type { Delivery, Holder } from "./delivery.ts";
import { Expiration } from "./expiration.ts";
import { Leases } from "./leases.ts";
import { MessageQueue } from "./message-queue.ts";
import { byteLength, type StoredMessage } from "./stored-message.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

/** Publishes a message to the dead-letter topic; false when that cannot be, and the message stays. */
export type ForwardDeadLetter = (message: StoredMessage, attempts: number, settings: SubscriptionSettings) => boolean;

/** A response holds at most so many messages, and ends with the message that reaches so many bytes. */
const maxResponseMessages = 1000;
const maxResponseBytes = 1024 * 1024;

/** What a subscription needs of its surroundings. */
export interface Surroundings {
  readonly clock: Clock;
  readonly ackIds: AckIds;
  readonly forward: ForwardDeadLetter;
  /** Nobody has used the subscription for its expiration period. */
  readonly onExpired: () => void;
}

export class Subscription {
  #settings: SubscriptionSettings;
  readonly ackIds: AckIds;
  readonly #clock: Clock;
  readonly #queue: MessageQueue;
  readonly #consumers = new Consumers();
  readonly #leases: Leases;
  readonly #expiration: Expiration;
  /** Messages that were published to it. */
  #accepted = 0;
  #distributing = false;

  constructor(settings: SubscriptionSettings, { clock, ackIds, forward, onExpired }: Surroundings) {
    this.#settings = settings;
    this.ackIds = ackIds;
    this.#clock = clock;
    this.#queue = new MessageQueue(settings.ordered);
    this.#leases = new Leases({
      clock,
      queue: this.#queue,
      settings: () => this.#settings,
      forward: (message, attempts) => forward(message, attempts, this.#settings),
      onDue: () => this.distribute(),
    });
    this.#expiration = new Expiration(clock, this, onExpired);
  }

  get settings(): SubscriptionSettings {
    return this.#settings;
  }

  /** Properties can be changed at any time, `ordered` excepted. */
  set settings(settings: SubscriptionSettings) {
    this.#settings = settings;
    this.#expiration.restart();
  }

  get expirationMs(): number {
    return this.#settings.expirationMs;
  }

  get inUse(): boolean {
    return this.#consumers.count > 0;
  }

  /** Messages that are handed out, with a lease that runs. */
  get outstanding(): number {
    return this.#leases.held;
  }

  /** Messages that are neither acked nor handed out. */
  get backlog(): number {
    return this.#accepted - this.#leases.done - this.#leases.held;
  }

  /** All messages that are not acked, in no particular order. */
  *unacked(): Iterable<StoredMessage> {
    yield* this.#queue.untouched();
    yield* this.#leases.messages();
  }

  /** Takes newly published messages. */
  accept(messages: readonly StoredMessage[]): void {
    for (const message of messages) this.#queue.add(message);
    this.#accepted += messages.length;
    this.distribute();
  }

  /** From now on the consumer gets messages. */
  attach(consumer: Consumer): void {
    this.#consumers.add(consumer);
    this.#expiration.touch();
    this.distribute();
  }

  /** What the consumer holds stays held until acked, given back or run out. */
  detach(consumer: Consumer): void {
    this.#consumers.remove(consumer);
    this.#expiration.touch();
  }

  acknowledge(ackNumbers: readonly number[]): void {
    this.#expiration.touch();
    for (const number of ackNumbers) this.#leases.acknowledge(number);
    this.distribute();
  }

  /** @param seconds counted from now; 0 gives the message back (nack) */
  modifyDeadlines(ackNumbers: readonly number[], seconds: number): void {
    this.modifyDeadlinesEach(ackNumbers, () => seconds);
  }

  /** @param secondsAt the new deadline of the i-th number; 0 gives the message back */
  modifyDeadlinesEach(ackNumbers: readonly number[], secondsAt: (i: number) => number): void {
    this.#expiration.touch();
    const now = this.#clock.monotonic();
    for (const [i, number] of ackNumbers.entries()) {
      const seconds = secondsAt(i);
      if (seconds === 0) this.#leases.nack(number);
      else this.#leases.extend(number, now + seconds * 1000);
    }
    this.distribute();
  }

  /** Hands out messages to the consumers that can take some, by turns and in equal shares. */
  distribute(): void {
    if (this.#distributing) return;
    this.#distributing = true;
    while (this.#handOut());
    this.#distributing = false;
    this.#leases.watch();
  }

  /** Tells the consumers that the subscription is gone, and frees everything. */
  delete(): void {
    this.#expiration.stop();
    for (const consumer of this.#consumers.removeAll()) consumer.subscriptionDeleted();
    this.#leases.clear();
  }

  /** Gives every consumer that can take some a response's worth; false when there is nobody or nothing. */
  #handOut(): boolean {
    if (this.#queue.isEmpty) return false;
    const takers = this.#consumers.takers();
    const share = Math.min(Math.ceil(this.backlog / takers.length), maxResponseMessages);
    let any = false;
    for (const consumer of takers) {
      const deliveries = this.#take(consumer.holder, share);
      if (deliveries.length === 0) continue;
      consumer.deliver(deliveries);
      any = true;
    }
    return any;
  }

  #take(holder: Holder, maxMessages: number): Delivery[] {
    const until = this.#clock.monotonic() + holder.ackDeadlineMs;
    const publishedAfter = this.#clock.now() - this.#settings.retentionMs;
    const taken: Delivery[] = [];
    let bytes = 0;
    while (taken.length < maxMessages && bytes < maxResponseBytes && holder.hasRoom) {
      const delivery = this.#queue.next(holder);
      if (!delivery) break;
      if (delivery.message.publication.publishTimeMs < publishedAfter) {
        this.#leases.drop(delivery);
        continue;
      }
      this.#leases.handTo(delivery, holder, until);
      bytes += byteLength(delivery.message);
      taken.push(delivery);
    }
    return taken;
  }
}
