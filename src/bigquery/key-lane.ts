/**
 * The messages of one ordering key that have no fate yet. At most one batch holds rows of the key, and what comes
 * later waits here until those rows have their fate: so no two requests ever race with rows of one key.
 *
 * The order is: rows of the batch, the held message, the messages that wait.
 */
import { Queue } from "../lib/queue.ts";
import type { Delivery } from "./delivery.ts";
import type { PendingRows } from "./pending-rows.ts";

/** A message that is to become a row when its turn comes. */
export interface WaitingMessage {
  readonly delivery: Delivery;
  /** Its index in the delivery's batch. */
  readonly message: number;
  /** An unknown field is refused at once: the table was looked at because of it. */
  readonly final: boolean;
}

/** A message that waits for a look at the table. */
export interface HeldMessage {
  readonly delivery: Delivery;
  readonly message: number;
  /** It is given back: whoever holds it may forget it. */
  giveUp(): void;
}

export interface KeyLaneEvents {
  /** Messages wait, and nothing is in their way any more. */
  ready(lane: KeyLane): void;
  /** Nothing of the key is left. */
  empty(lane: KeyLane): void;
  /** A message of the key is given back, and with it everything behind. */
  failed(lane: KeyLane, delivery: Delivery, message: number): void;
}

export class KeyLane {
  readonly key: string;
  readonly #events: KeyLaneEvents;
  /** The batch with rows of the key that have no fate yet. */
  #pending: PendingRows | undefined;
  /** Its rows of this key, ascending; those before `#next` have their fate, and of the others those in `#done`. */
  #rows: number[] = [];
  #next = 0;
  #done: Set<number> | undefined;
  #held: HeldMessage | undefined;
  /** Come before all in `#waiting`; the last one first. */
  readonly #first: WaitingMessage[] = [];
  #waiting: Queue<WaitingMessage> | undefined;

  constructor(key: string, events: KeyLaneEvents) {
    this.key = key;
    this.#events = events;
  }

  /** The first row without a fate; undefined when there is none. */
  get firstRow(): number | undefined {
    return this.#rows[this.#next];
  }

  /** The next message that waits; undefined when none does. */
  get next(): WaitingMessage | undefined {
    return this.#first.at(-1) ?? this.#waiting?.first;
  }

  /** Rows behind a row of the batch that have no fate yet. */
  rowsBehind(row: number): readonly number[] {
    return this.#unsettled().filter((other) => other > row);
  }

  /** The messages that wait, in order. */
  waiting(): readonly WaitingMessage[] {
    return [...this.#first.toReversed(), ...(this.#waiting ?? [])];
  }

  /** Something of the key goes first, unless it is in the batch that the next row would join. */
  blocked(filling: PendingRows): boolean {
    return this.#held !== undefined || (this.#pending !== undefined && this.#pending !== filling);
  }

  /** A message of the key that comes now has to wait: others do, or something goes first. */
  mustWait(filling: PendingRows): boolean {
    return this.next !== undefined || this.blocked(filling);
  }

  wait(waiting: WaitingMessage): void {
    (this.#waiting ??= new Queue()).push(waiting);
  }

  /** Removes the message that `next` gave. */
  shift(): void {
    if (this.#first.pop() === undefined) this.#waiting?.shift();
  }

  /** Undoes `shift`. */
  putFirst(waiting: WaitingMessage): void {
    this.#first.push(waiting);
  }

  /** The next message has become a row of this batch. */
  wrote(pending: PendingRows, row: number): void {
    this.#pending = pending;
    this.#rows.push(row);
  }

  hold(held: HeldMessage): void {
    this.#held = held;
  }

  /** The held message is looked at again, before all that wait. */
  letGo(again: WaitingMessage): void {
    this.#held = undefined;
    this.putFirst(again);
    this.settle();
  }

  /** A row is in the table, or refused. */
  rowDone(row: number): void {
    if (row !== this.#rows[this.#next]) {
      (this.#done ??= new Set()).add(row);
      return;
    }
    this.#next++;
    while (this.#done?.delete(this.#rows[this.#next]!)) this.#next++;
    if (this.#next === this.#rows.length) this.#leaveBatch();
  }

  /** Rows without a fate come back as messages, before all that wait: their bytes are of no use any more. */
  takeBack(): void {
    const rows = this.#unsettled();
    const pending = this.#pending;
    if (!pending) return;
    for (const row of rows.toReversed()) {
      this.#first.push({ delivery: pending.deliveryOf(row), message: pending.rows.messageOf(row), final: false });
      pending.remove(row);
    }
    this.#leaveBatch();
  }

  /**
   * A row is given back, or refused while its key has to wait for it: everything behind it is given back too.
   *
   * @param row that row of the batch, which has its fate already
   */
  failedAt(row: number): void {
    const pending = this.#pending!;
    this.#events.failed(this, pending.deliveryOf(row), pending.rows.messageOf(row));
    const behind = this.rowsBehind(row);
    this.#giveBackWaiting();
    for (const other of behind) pending.giveBack(other);
    this.rowDone(row);
    for (const other of behind) this.rowDone(other);
  }

  /** A message that is no row is given back, or refused while its key has to wait for it: so is everything behind it. */
  failedBefore(delivery: Delivery, message: number): void {
    this.#events.failed(this, delivery, message);
    this.#giveBackWaiting();
  }

  /** Gives back what belongs to some deliveries, and everything behind it. Rows are not looked at. */
  abandon(given: (delivery: Delivery) => boolean): void {
    const inOrder = this.waiting();
    this.#first.length = 0;
    this.#waiting?.takeAll();
    const held = this.#held;
    const from = held && given(held.delivery) ? 0 : inOrder.findIndex(({ delivery }) => given(delivery));
    for (const waiting of from < 0 ? inOrder : inOrder.slice(0, from)) this.wait(waiting);
    const gone = from < 0 ? [] : inOrder.slice(from);
    const first = held && given(held.delivery) ? held : gone[0];
    if (first) this.#events.failed(this, first.delivery, first.message);
    if (first === held) this.#giveBackHeld();
    for (const { delivery, message } of gone) delivery.abandon(message);
    this.settle();
  }

  /** Tells when the key can go on, or when nothing of it is left. */
  settle(): void {
    if (this.#pending || this.#held) return;
    if (this.next) this.#events.ready(this);
    else this.#events.empty(this);
  }

  #giveBackWaiting(): void {
    this.#giveBackHeld();
    for (let next = this.next; next; next = this.next) {
      this.shift();
      next.delivery.abandon(next.message);
    }
    this.settle();
  }

  #giveBackHeld(): void {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    held.giveUp();
    held.delivery.abandon(held.message);
  }

  #unsettled(): number[] {
    return this.#rows.slice(this.#next).filter((row) => !this.#done?.has(row));
  }

  #leaveBatch(): void {
    this.#pending = undefined;
    this.#rows = [];
    this.#next = 0;
    this.#done = undefined;
    this.settle();
  }
}
