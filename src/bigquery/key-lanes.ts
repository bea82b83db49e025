/**
 * The order of rows within their ordering keys: a lane for each key that has messages without a fate.
 *
 * A key fails when one of its messages is given back. Everything of it that is not yet written is given back too, and
 * so is what comes later, until the message comes again: Pub/Sub delivers it first. What was on its way to us
 * when the key failed comes within moments, so the failure is forgotten soon after the source has heard of it: it counts
 * for what comes before, however long that waits until it is looked at.
 */
import type { Clock } from "../lib/clock.ts";
import { Queue } from "../lib/queue.ts";
import type { Delivery } from "./delivery.ts";
import { KeyLane, type KeyLaneEvents } from "./key-lane.ts";

interface Failure {
  readonly messageId: string;
  /** The delivery with the message; the source does not hear of it before it is settled. */
  readonly delivery: Delivery;
  /** When it is forgotten; monotonic milliseconds. */
  endsAtMs: number;
}

/** So long after the source has heard of a failure messages may come that were under way before. */
const underWayMs = 2000;

export class KeyLanes {
  readonly #clock: Clock;
  readonly #lanes = new Map<string, KeyLane>();
  readonly #ready = new Queue<KeyLane>();
  /** Those in `#ready`. */
  readonly #queued = new Set<KeyLane>();
  readonly #failures = new Map<string, Failure>();
  readonly #events: KeyLaneEvents = {
    ready: (lane) => {
      if (this.#queued.has(lane)) return;
      this.#queued.add(lane);
      this.#ready.push(lane);
    },
    empty: (lane) => {
      if (this.#lanes.get(lane.key) === lane) this.#lanes.delete(lane.key);
    },
    // Everything behind an earlier failure is given back: this one stands before it.
    failed: (lane, delivery, message) => this.#fail(lane.key, delivery, message),
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Keys with messages without a fate. */
  get size(): number {
    return this.#lanes.size;
  }

  /** A lane whose next message may become a row now; it stays the next one until `shift`. */
  get ready(): KeyLane | undefined {
    return this.#ready.first;
  }

  /** Removes the lane that `ready` gave. */
  shift(): void {
    const lane = this.#ready.shift();
    if (lane) this.#queued.delete(lane);
  }

  /** The lane of a key. */
  of(key: string): KeyLane {
    let lane = this.#lanes.get(key);
    if (!lane) this.#lanes.set(key, (lane = new KeyLane(key, this.#events)));
    return lane;
  }

  /**
   * A message has to be given back, because an earlier one of its key was.
   *
   * @param cameAtMs when it came; monotonic milliseconds
   */
  failed(key: string, delivery: Delivery, message: number, cameAtMs: number): boolean {
    const failure = this.#failures.get(key);
    if (!failure) return false;
    const over = failure.endsAtMs <= cameAtMs;
    const again = failure.delivery !== delivery && failure.messageId === delivery.batch.messageId(message);
    if (over || again) this.#failures.delete(key);
    return !over && !again;
  }

  /** Gives back what belongs to some deliveries, and everything of its keys behind it. Rows are not looked at. */
  abandon(given: (delivery: Delivery) => boolean): void {
    for (const lane of this.#lanes.values()) lane.abandon(given);
  }

  /** Messages of a delivery are given back that never came to their lanes. */
  failAll(delivery: Delivery, from: number, to: number): void {
    const { batch } = delivery;
    for (let message = from; message < to; message++) {
      const key = batch.orderingKey(message);
      if (key !== "" && !this.#failures.has(key)) this.#fail(key, delivery, message);
    }
  }

  /**
   * The source hears of the fates of a delivery.
   *
   * @param oldestMs when the oldest of the messages came that were not looked at; monotonic milliseconds
   */
  settled(delivery: Delivery, oldestMs: number): void {
    if (this.#failures.size === 0) return;
    const now = this.#clock.monotonic();
    for (const [key, failure] of this.#failures) {
      if (failure.delivery === delivery) failure.endsAtMs = now + underWayMs;
      else if (failure.endsAtMs <= oldestMs) this.#failures.delete(key);
    }
  }

  #fail(key: string, delivery: Delivery, message: number): void {
    // The message may have been the last of its delivery without a fate.
    const endsAtMs = delivery.settled ? this.#clock.monotonic() + underWayMs : Infinity;
    this.#failures.set(key, { messageId: delivery.batch.messageId(message), delivery, endsAtMs });
  }
}
