/**
 * One subscription: who holds which message until when, and who gets the next ones. Pure but for the injected clock.
 *
 * Acks and nacks name a handing out by its number. A number that is unknown or was replaced by a later handing out is
 * ignored, as the service does without exactly-once delivery. A message whose lease ran out can still be acked until it
 * is handed out again.
 */
import { Alarm } from "../../lib/alarm.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AckIds } from "./ack-ids.ts";
import { unchain } from "./chain.ts";
import { Consumers, type Consumer } from "./consumers.ts";
import { DeadlineQueue } from "./deadline-queue.ts";
import { OrderingKey, type Delivery, type Holder } from "./delivery.ts";
import { Expiration } from "./expiration.ts";
import { MessageQueue, type Queued } from "./message-queue.ts";
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
  readonly #forward: ForwardDeadLetter;
  readonly #queue: MessageQueue;
  readonly #consumers = new Consumers();
  readonly #byAckNumber = new Map<number, Delivery>();
  /** Ends of leases and of backoffs. */
  readonly #deadlines = new DeadlineQueue<Queued>();
  readonly #alarm: Alarm;
  readonly #expiration: Expiration;
  #lastAckNumber = 0;
  #held = 0;
  #unacked = 0;
  #distributing = false;

  constructor(settings: SubscriptionSettings, { clock, ackIds, forward, onExpired }: Surroundings) {
    this.#settings = settings;
    this.ackIds = ackIds;
    this.#queue = new MessageQueue(settings.ordered);
    this.#clock = clock;
    this.#forward = forward;
    this.#alarm = new Alarm(clock, () => this.#fallDue());
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
    return this.#held;
  }

  /** Messages that are neither acked nor handed out. */
  get backlog(): number {
    return this.#unacked - this.#held;
  }

  /** All messages that are not acked, in no particular order. */
  *unacked(): Iterable<StoredMessage> {
    yield* this.#queue.untouched();
    for (const delivery of this.#byAckNumber.values()) yield delivery.message;
  }

  /** Takes newly published messages. */
  accept(messages: readonly StoredMessage[]): void {
    for (const message of messages) this.#queue.add(message);
    this.#unacked += messages.length;
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
    this.#expiration.touch();
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
    this.#alarm.setAt(this.#deadlines.nextAtMs());
  }

  /** Tells the consumers that the subscription is gone, and frees everything. */
  delete(): void {
    this.#alarm.cancel();
    this.#expiration.stop();
    for (const consumer of this.#consumers.removeAll()) consumer.subscriptionDeleted();
    this.#byAckNumber.clear();
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
        this.#drop(delivery);
        continue;
      }
      this.#handTo(delivery, holder, until);
      bytes += byteLength(delivery.message);
      taken.push(delivery);
    }
    return taken;
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
      this.#queue.requeue(key);
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
    else this.#queue.giveBack(item);
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
    const { deadLetter } = this.#settings;
    if (!deadLetter || delivery.failures < deadLetter.maxDeliveryAttempts) return false;
    if (!this.#forward(delivery.message, delivery.failures, this.#settings)) return false;
    this.#finish(delivery);
    if (delivery.key) this.#queue.requeue(delivery.key);
    return true;
  }

  /** The pause doubles with every failure of the message (RETRY-03), without jitter: tests can foretell it. */
  #backoffMs(failures: number): number {
    const { retry } = this.#settings;
    return retry ? Math.min(retry.maxBackoffMs, retry.minBackoffMs * 2 ** (failures - 1)) : 0;
  }

  #backOff(item: Queued, backoffMs: number): void {
    if (item instanceof OrderingKey) {
      if (item.backingOff) return;
      item.backingOff = true;
      unchain(item);
    } else {
      item.state = "backing-off";
    }
    this.#deadlines.schedule(item, this.#clock.monotonic() + backoffMs);
  }

  /** The message is older than the subscription keeps messages (COMMON-02). */
  #drop(delivery: Delivery): void {
    this.#finish(delivery);
    if (!delivery.key) return;
    delivery.key.handedOut.pop();
    this.#queue.requeue(delivery.key);
  }

  /** The subscription is done with the message. */
  #finish(delivery: Delivery): void {
    this.#release(delivery);
    unchain(delivery);
    delivery.state = "done";
    this.#byAckNumber.delete(delivery.ackNumber);
    this.#unacked--;
  }

  #fallDue(): void {
    const now = this.#clock.monotonic();
    for (let item = this.#deadlines.shiftDue(now); item; item = this.#deadlines.shiftDue(now)) {
      if (item instanceof OrderingKey || item.state === "backing-off") this.#endBackoff(item);
      else this.#fail(item);
    }
    this.distribute();
  }

  #endBackoff(item: Queued): void {
    if (item instanceof OrderingKey) item.backingOff = false;
    else item.state = "waiting";
    this.#queue.giveBack(item);
  }
}
