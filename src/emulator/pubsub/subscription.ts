/** One subscription: its messages, those who want them, and who gets the next ones. Pure but for the injected clock. */
import type { Clock } from "../../lib/clock.ts";
import type { RpcError } from "../rpc-error.ts";
import { applyEach, isTransient, type AckFailure, type AckFailureCode } from "./ack-failures.ts";
import type { AckIds } from "./ack-ids.ts";
import { Consumers, type Consumer } from "./consumers.ts";
import type { Delivery, Holder } from "./delivery.ts";
import { Expiration } from "./expiration.ts";
import { parseFilter, type Filter } from "./filter.ts";
import { Leases } from "./leases.ts";
import { MessageQueue } from "./message-queue.ts";
import { MessageRetention } from "./message-retention.ts";
import { byteLength, inOrder, readAttributes, type StoredMessage } from "./stored-message.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

/** Publishes a message to the dead-letter topic; false when that cannot be, and the message stays. */
export type ForwardDeadLetter = (message: StoredMessage, attempts: number, settings: SubscriptionSettings) => boolean;

/**
 * Says of the i-th ack number of a request that it is to fail, and how, whatever it names. For good means that its lease has
 * ended, as far as it had one.
 */
export type ScriptedAckFailure = (i: number) => AckFailureCode | undefined;

/** A response holds at most so many messages, and ends with the message that reaches so many bytes. */
const maxResponseMessages = 1000;
const maxResponseBytes = 1024 * 1024;

/** What a subscription needs of its surroundings. */
export interface Surroundings {
  readonly clock: Clock;
  readonly ackIds: AckIds;
  readonly forward: ForwardDeadLetter;
  /** How long the topic keeps every message; 0: it keeps none. */
  readonly topicRetentionMs: () => number;
  /** Nobody has used the subscription for its expiration period. */
  readonly onExpired: () => void;
}

export class Subscription {
  #settings: SubscriptionSettings;
  readonly ackIds: AckIds;
  readonly #clock: Clock;
  readonly #filter: Filter | undefined;
  readonly #queue: MessageQueue;
  readonly #consumers = new Consumers();
  readonly #leases: Leases;
  readonly #retention: MessageRetention;
  readonly #expiration: Expiration;
  /** Messages that came to it since it was made or was last made to seek. */
  #accepted = 0;
  #detached = false;
  #distributing = false;

  constructor(settings: SubscriptionSettings, { clock, ackIds, forward, topicRetentionMs, onExpired }: Surroundings) {
    this.#settings = settings;
    this.ackIds = ackIds;
    this.#clock = clock;
    this.#filter = settings.filter === "" ? undefined : parseFilter(settings.filter);
    this.#queue = new MessageQueue(settings.ordered);
    this.#retention = new MessageRetention(clock, () => this.#settings, topicRetentionMs);
    this.#leases = new Leases({
      clock,
      queue: this.#queue,
      settings: () => this.#settings,
      forward: (message, attempts) => forward(message, attempts, this.#settings),
      onDone: (message) => this.#retention.keep(message),
      onDue: () => this.distribute(),
    });
    this.#expiration = new Expiration(clock, this, onExpired);
  }

  get settings(): SubscriptionSettings {
    return this.#settings;
  }

  /** Properties can be changed at any time, `ordered` and `filter` excepted. */
  set settings(settings: SubscriptionSettings) {
    this.#settings = settings;
    if (!settings.retainAcked) this.#retention.forgetAcked();
    this.#expiration.restart();
    this.distribute();
  }

  get expirationMs(): number {
    return this.#settings.expirationMs;
  }

  get inUse(): boolean {
    return this.#consumers.count > 0;
  }

  /** Whether it was cut off from its topic: it has no messages, and gets none. */
  get detached(): boolean {
    return this.#detached;
  }

  /** Messages that are handed out, with a lease that runs. */
  get outstanding(): number {
    return this.#leases.held;
  }

  /** Messages that are neither acked nor handed out. */
  get backlog(): number {
    return this.#accepted - this.#leases.done - this.#leases.held;
  }

  /** All messages that are not acked and not too old, in no particular order. */
  *unacked(): Iterable<StoredMessage> {
    for (const message of this.#queue.untouched()) if (!this.#retention.isTooOld(message)) yield message;
    for (const message of this.#leases.messages()) if (!this.#retention.isTooOld(message)) yield message;
  }

  /** Messages that are acked but kept, in no particular order. */
  get retained(): readonly StoredMessage[] {
    return this.#retention.acked;
  }

  /** Takes newly published messages; those that the filter does not want count as acked (FILTER-01). */
  accept(messages: readonly StoredMessage[]): void {
    for (const message of messages) this.#add(message);
    this.distribute();
  }

  /**
   * Makes these messages the ones that are not acked; all others count as acked. Leases end, and ack numbers of before
   * have no effect: the messages come again, in order of publication, attempts counted anew.
   *
   * @param isOld a snapshot's messages are kept as if they were new, whatever their age
   */
  replay(messages: Iterable<StoredMessage>, isOld: boolean): void {
    const unacked = new Set(messages);
    const acked = [...this.retained, ...this.unacked()].filter((message) => !unacked.has(message));
    this.#queue.clear();
    this.#leases.clear();
    this.#retention.forgetAcked();
    this.#accepted = 0;
    if (isOld) this.#retention.renew();
    for (const message of acked) this.#retention.keep(message);
    this.#expiration.touch();
    this.accept([...unacked].toSorted(inOrder));
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

  /** @returns what exactly-once delivery, or a script, says of numbers that have no effect */
  acknowledge(ackNumbers: readonly number[], scripted?: ScriptedAckFailure): AckFailure[] {
    return this.#settle(ackNumbers, (number) => this.#leases.acknowledge(number), scripted);
  }

  /**
   * @param seconds counted from now; 0 gives the message back (nack)
   * @returns as `acknowledge`
   */
  modifyDeadlines(ackNumbers: readonly number[], seconds: number, scripted?: ScriptedAckFailure): AckFailure[] {
    return this.modifyDeadlinesEach(ackNumbers, () => seconds, scripted);
  }

  /** @param secondsAt the new deadline of the i-th number; 0 gives the message back */
  modifyDeadlinesEach(
    ackNumbers: readonly number[],
    secondsAt: (i: number) => number,
    scripted?: ScriptedAckFailure,
  ): AckFailure[] {
    const now = this.#clock.monotonic();
    const modify = (number: number, i: number): AckFailureCode | undefined => {
      const seconds = secondsAt(i);
      return seconds === 0 ? this.#leases.nack(number) : this.#leases.extend(number, now + seconds * 1000);
    };
    return this.#settle(ackNumbers, modify, scripted);
  }

  /** Hands out messages to the consumers that can take some, by turns and in equal shares. */
  distribute(): void {
    if (this.#distributing) return;
    this.#distributing = true;
    while (this.#handOut());
    this.#distributing = false;
    this.#leases.watch();
  }

  /** Cuts it off from its topic: nothing is left, and nobody can have anything of it any more. */
  cutOff(reason: RpcError): void {
    this.#detached = true;
    this.#empty(reason);
  }

  /** The subscription is gone. */
  delete(reason: RpcError): void {
    this.#expiration.stop();
    this.#empty(reason);
  }

  #empty(reason: RpcError): void {
    for (const consumer of this.#consumers.removeAll()) consumer.subscriptionEnded(reason);
    this.#queue.clear();
    this.#leases.clear();
    this.#retention.forgetAcked();
    this.#accepted = 0;
  }

  #add(message: StoredMessage): void {
    if (this.#filter && !this.#filter(readAttributes(message))) return;
    this.#queue.add(message);
    this.#accepted++;
  }

  #settle(
    ackNumbers: readonly number[],
    apply: (number: number, i: number) => AckFailureCode | undefined,
    scripted: ScriptedAckFailure | undefined,
  ): AckFailure[] {
    this.#expiration.touch();
    const { ordered, exactlyOnce } = this.#settings;
    const failures = applyEach(ackNumbers, ordered && exactlyOnce, (number, i) => {
      const code = scripted?.(i);
      if (code !== undefined && !isTransient(code)) this.#leases.expire(number);
      return code ?? apply(number, i);
    });
    this.distribute();
    return failures;
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
    const taken: Delivery[] = [];
    let bytes = 0;
    while (taken.length < maxMessages && bytes < maxResponseBytes && holder.hasRoom) {
      const delivery = this.#queue.next(holder);
      if (!delivery) break;
      if (this.#retention.isTooOld(delivery.message)) {
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
