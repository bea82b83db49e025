/**
 * Who holds which message of a subscription, and until when; what comes of acks, nacks and leases that run out.
 *
 * Acks and nacks name a handing out by its number. Without exactly-once delivery a number that is unknown or was replaced
 * by a later handing out is ignored, and a message whose lease ran out can still be acked until it is handed out again.
 * With it, only the number of a lease that runs has an effect, and the caller is told of any other (PULL-01). In both cases
 * a message that comes again brings all later ones of its ordering key with it, whose leases end (ORDER-01).
 */
import { Alarm } from "../../lib/alarm.ts";
import type { Clock } from "../../lib/clock.ts";
import { invalidAckId, unorderedAckId, type AckFailureCode } from "./ack-failures.ts";
import { unchain } from "./chain.ts";
import { DeadlineQueue } from "./deadline-queue.ts";
import { OrderingKey, type Delivery, type Holder } from "./delivery.ts";
import type { MessageQueue, Queued } from "./message-queue.ts";
import { byteLength, type StoredMessage } from "./stored-message.ts";
import type { SubscriptionSettings } from "./subscription-settings.ts";

/** What leases need of the subscription that they belong to. */
export interface LeaseSurroundings {
  readonly clock: Clock;
  /** Takes what is given back. */
  readonly queue: MessageQueue;
  /** They may change at any time. */
  readonly settings: () => SubscriptionSettings;
  /** Publishes a message to the dead-letter topic; false when that cannot be, and the message stays. */
  readonly forward: (message: StoredMessage, attempts: number) => boolean;
  /** The subscription is done with a message. */
  readonly onDone: (message: StoredMessage) => void;
  /** Leases or backoffs have ended by themselves: there may be something to hand out. */
  readonly onDue: () => void;
}

export class Leases {
  readonly #surroundings: LeaseSurroundings;
  readonly #byAckNumber = new Map<number, Delivery>();
  /** Ends of leases and of backoffs. */
  #deadlines = new DeadlineQueue<Queued>();
  readonly #alarm: Alarm;
  #lastAckNumber = 0;
  #held = 0;
  #done = 0;

  constructor(surroundings: LeaseSurroundings) {
    this.#surroundings = surroundings;
    this.#alarm = new Alarm(surroundings.clock, () => this.#fallDue());
  }

  /** Messages with a lease that runs. */
  get held(): number {
    return this.#held;
  }

  /** Messages that the subscription is done with: acked, forwarded, or too old. */
  get done(): number {
    return this.#done;
  }

  /** Messages that were handed out and are not done, in no particular order. */
  *messages(): Iterable<StoredMessage> {
    for (const delivery of this.#byAckNumber.values()) yield delivery.message;
  }

  /** A message is handed out. */
  handTo(delivery: Delivery, holder: Holder, untilMs: number): void {
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

  /** @returns why the number has no effect, where exactly-once delivery tells */
  acknowledge(ackNumber: number): AckFailureCode | undefined {
    const delivery = this.#byAckNumber.get(ackNumber);
    const { exactlyOnce } = this.#surroundings.settings();
    if (exactlyOnce && delivery?.state !== "held") return invalidAckId;
    if (!delivery) return undefined;
    const { key } = delivery;
    if (!key) {
      this.#finish(delivery);
    } else if (exactlyOnce && key.handedOut[0] !== delivery) {
      return unorderedAckId;
    } else if (delivery.state === "held") {
      this.#release(delivery);
      delivery.state = "acked-early";
      while (key.handedOut[0]?.state === "acked-early") this.#finish(key.handedOut.shift()!);
      this.#surroundings.queue.requeue(key);
    }
    return undefined;
  }

  /** Sets the end of a lease anew. @returns as `acknowledge` */
  extend(ackNumber: number, untilMs: number): AckFailureCode | undefined {
    const delivery = this.#byAckNumber.get(ackNumber);
    if (delivery?.state !== "held") return this.#unlessHeld;
    unchain(delivery);
    this.#deadlines.schedule(delivery, untilMs);
    return undefined;
  }

  /** Gives a message back. @returns as `acknowledge` */
  nack(ackNumber: number): AckFailureCode | undefined {
    const delivery = this.#byAckNumber.get(ackNumber);
    if (delivery?.state === "held") {
      this.#fail(delivery);
      return undefined;
    }
    // Taken back with an earlier message of its key: this handing out failed too.
    if (delivery?.state === "waiting" && delivery.key && !delivery.failed) this.#countFailure(delivery);
    return this.#unlessHeld;
  }

  /** The lease ends as if its time were over. */
  expire(ackNumber: number): void {
    const delivery = this.#byAckNumber.get(ackNumber);
    if (delivery?.state === "held") this.#fail(delivery);
  }

  /** The message is older than the subscription keeps messages (COMMON-02). */
  drop(delivery: Delivery): void {
    this.#finish(delivery);
    if (!delivery.key) return;
    delivery.key.handedOut.pop();
    this.#surroundings.queue.requeue(delivery.key);
  }

  /** Has the next lease or backoff end in time; to be called when some were added. */
  watch(): void {
    this.#alarm.setAt(this.#deadlines.nextAtMs());
  }

  /** Forgets all messages; every number of before is unknown. */
  clear(): void {
    this.#alarm.cancel();
    for (const delivery of this.#byAckNumber.values()) this.#release(delivery);
    this.#byAckNumber.clear();
    this.#deadlines = new DeadlineQueue();
    this.#done = 0;
  }

  /** What exactly-once delivery says to a number whose lease has ended. */
  get #unlessHeld(): AckFailureCode | undefined {
    return this.#surroundings.settings().exactlyOnce ? invalidAckId : undefined;
  }

  /** Ends a lease, whatever for. */
  #release(delivery: Delivery): void {
    if (delivery.state !== "held") return;
    unchain(delivery);
    delivery.holder!.messages--;
    delivery.holder!.bytes -= byteLength(delivery.message);
    this.#held--;
  }

  /** A nack, or a lease that ran out. */
  #fail(delivery: Delivery): void {
    this.#takeBack(delivery);
    if (this.#countFailure(delivery)) return;
    const backoffMs = this.#backoffMs(delivery.failures);
    const item = delivery.key ?? delivery;
    if (backoffMs > 0) this.#backOff(item, backoffMs);
    else this.#surroundings.queue.giveBack(item);
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
    const { settings, forward, queue } = this.#surroundings;
    const { deadLetter } = settings();
    delivery.failures++;
    delivery.failed = true;
    if (!deadLetter || delivery.failures < deadLetter.maxDeliveryAttempts) return false;
    if (!forward(delivery.message, delivery.failures)) return false;
    this.#finish(delivery);
    if (delivery.key) queue.requeue(delivery.key);
    return true;
  }

  /** The pause doubles with every failure of the message (RETRY-03), without jitter: tests can foretell it. */
  #backoffMs(failures: number): number {
    const { retry } = this.#surroundings.settings();
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
    this.#deadlines.schedule(item, this.#surroundings.clock.monotonic() + backoffMs);
  }

  #endBackoff(item: Queued): void {
    if (item instanceof OrderingKey) item.backingOff = false;
    else item.state = "waiting";
    this.#surroundings.queue.giveBack(item);
  }

  /** The subscription is done with the message. */
  #finish(delivery: Delivery): void {
    this.#release(delivery);
    unchain(delivery);
    delivery.state = "done";
    this.#byAckNumber.delete(delivery.ackNumber);
    this.#done++;
    this.#surroundings.onDone(delivery.message);
  }

  #fallDue(): void {
    const now = this.#surroundings.clock.monotonic();
    for (let item = this.#deadlines.shiftDue(now); item; item = this.#deadlines.shiftDue(now)) {
      if (item instanceof OrderingKey || item.state === "backing-off") this.#endBackoff(item);
      else this.#fail(item);
    }
    this.#surroundings.onDue();
  }
}
