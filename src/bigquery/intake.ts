/**
 * Where messages become rows: deliveries wait here in order, are transcoded as long as requests find room, and
 * leave as requests. Messages with an unknown field wait for a look at the table before they are refused.
 */
import type { Refusal, RefusalCode } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { Queue } from "../lib/queue.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { AppendObserver } from "./append-observer.ts";
import type { AppendOptions, BatchOptions } from "./append-options.ts";
import { AppendRequest } from "./append-request.ts";
import { Batcher } from "./batcher.ts";
import { transcodeContained } from "./contained-transcoding.ts";
import type { Delivery } from "./delivery.ts";
import { type Held, HeldMessages } from "./held-messages.ts";
import type { KeyLane } from "./key-lane.ts";
import { KeyLanes } from "./key-lanes.ts";
import { PendingRows } from "./pending-rows.ts";
import { requestOverhead } from "./request-bytes.ts";
import { RowBatchPool } from "./row-batch-pool.ts";

export interface IntakeOptions {
  readonly batch: BatchOptions;
  readonly append: AppendOptions;
  /** Name and trace ID take room in requests. */
  readonly writeStream: string;
  readonly traceId: string;
  readonly clock: Clock;
  readonly observer: AppendObserver;
  /** Another request would be sent soon. */
  readonly room: () => boolean;
  readonly submit: (request: AppendRequest) => void;
  /** When a message with an ordering key is refused, what comes behind it in its key is given back. */
  readonly refusedHoldsKey: boolean;
  /** The table was seen after a moment of the wall clock, and not long ago. */
  readonly sawTableAfter: (wallMs: number) => boolean;
  /** Has the table looked at; resolves when that is done. Never rejects. */
  readonly refresh: () => Promise<void>;
  /** So many messages raised an exception; the first one is given. They are refused. */
  readonly failed: (error: unknown, messages: number) => void;
}

/** Messages of a delivery that are to be transcoded: `next` ≤ i < `to`. */
interface Span {
  readonly delivery: Delivery;
  next: number;
  to: number;
  /** Unknown fields are refused at once: the table was looked at because of them. */
  readonly final: boolean;
}

/** Allowed difference between our clock and the one that stamps messages. */
const clockSkewMs = 1000;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #batcher: Batcher;
  readonly #batches: RowBatchPool;
  readonly #spans = new Queue<Span>();
  readonly #lanes: KeyLanes;
  readonly #held: HeldMessages;
  #transcoder: Transcoder | undefined;
  #requests = 0;
  #hurry = false;
  #pumping = false;

  constructor(options: IntakeOptions) {
    this.#options = options;
    const { batch, append, clock } = options;
    this.#batches = new RowBatchPool({ ...batch, maxRequestBytes: append.maxRequestBytes }, append.maxInFlight + 1);
    this.#batcher = new Batcher({
      maxDelayMs: batch.maxDelayMs,
      clock,
      create: (transcoder) =>
        new PendingRows(this.#batches.take(), transcoder, (rows) => {
          this.#batches.give(rows);
        }),
      onDue: () => this.pump(),
    });
    this.#lanes = new KeyLanes(clock);
    this.#held = new HeldMessages({
      refresh: options.refresh,
      lookedAt: (held) => this.#lookedAt(held),
    });
  }

  get transcoder(): Transcoder | undefined {
    return this.#transcoder;
  }

  /** Messages are transcoded by this one from now on; undefined: they wait. */
  use(transcoder: Transcoder | undefined): void {
    this.#transcoder = transcoder;
    if (transcoder) this.#batches.limits = this.#limits(transcoder);
    this.pump();
  }

  #limits(transcoder: Transcoder): { maxBytes: number; maxRows: number; maxRequestBytes: number } {
    const { batch, append, writeStream, traceId } = this.#options;
    const overhead = requestOverhead(transcoder, writeStream, traceId);
    const maxRequestBytes = Math.max(1, append.maxRequestBytes - overhead);
    return { maxBytes: Math.min(batch.maxBytes, maxRequestBytes), maxRows: batch.maxRows, maxRequestBytes };
  }

  add(delivery: Delivery): void {
    this.#spans.push({ delivery, next: 0, to: delivery.batch.length, final: false });
    this.pump();
  }

  /** The fates of a delivery are known to the caller from now on. */
  settled(delivery: Delivery): void {
    this.#lanes.settled(delivery);
  }

  /** Rows no longer wait for others. */
  hurry(): void {
    this.#hurry = true;
    this.pump();
  }

  /** Turns messages into rows and rows into requests, as far as there is room. */
  pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (this.#submitDue() || this.#transcodeNext());
    } finally {
      this.#pumping = false;
    }
  }

  #submitDue(): boolean {
    const idle = !this.#transcoder || (this.#spans.length === 0 && !this.#lanes.ready);
    const due = this.#batcher.due || (this.#hurry && idle && this.#batcher.filled);
    if (!due || !this.#options.room()) return false;
    const { pending, readyAtMs } = this.#batcher.take();
    this.#options.submit(new AppendRequest(pending, this.#requests++, readyAtMs));
    return true;
  }

  #transcodeNext(): boolean {
    const transcoder = this.#transcoder;
    const lane = this.#lanes.ready;
    const span = this.#spans.first;
    if (!transcoder || (!lane && !span)) return false;
    if (!lane && span!.delivery.settled) {
      this.#spans.shift();
      return true;
    }
    const pending = this.#batcher.open(transcoder);
    // Full, and no room for a request: the answer to one in flight makes room.
    if (!pending) return this.#options.room();
    const all = lane ? this.#takeLane(lane, pending) : this.#takeSpan(span!, pending);
    if (!all) this.#batcher.finish();
    this.#batcher.added();
    return true;
  }

  /** Returns false when the batch of rows became full before all messages of the span were looked at. */
  #takeSpan(span: Span, pending: PendingRows): boolean {
    if (span.delivery.batch.hasOrderingKeys) this.#takeOneByOne(span, pending);
    else span.next = this.#transcode(span.delivery, span.next, span.to, pending, span.final, undefined);
    if (span.next < span.to) return false;
    this.#spans.shift();
    return true;
  }

  #takeOneByOne(span: Span, pending: PendingRows): void {
    const { delivery, to, final } = span;
    for (; span.next < to; span.next++) {
      const message = span.next;
      const key = delivery.batch.orderingKey(message);
      const lane = key === "" ? undefined : this.#lanes.of(key);
      if (lane && this.#lanes.failed(key, delivery, message)) delivery.abandon(message);
      else if (lane?.mustWait(pending)) lane.wait({ delivery, message, final });
      else if (this.#transcode(delivery, message, message + 1, pending, final, lane) === message) {
        lane?.settle();
        return;
      }
    }
  }

  /** Returns false when the batch of rows became full before all messages of the lane were looked at. */
  #takeLane(lane: KeyLane, pending: PendingRows): boolean {
    while (lane.next && !lane.blocked(pending)) {
      const waiting = lane.next;
      const { delivery, message, final } = waiting;
      lane.shift();
      if (this.#transcode(delivery, message, message + 1, pending, final, lane) > message) continue;
      lane.putFirst(waiting);
      // Those that follow rows in a full batch wait for their fate; others are next.
      if (lane.firstRow !== undefined) this.#lanes.shift();
      return false;
    }
    this.#lanes.shift();
    return true;
  }

  /** Writes messages as rows. Returns the first that was not looked at, because the batch is full; `to` when there is none. */
  #transcode(
    delivery: Delivery,
    from: number,
    to: number,
    pending: PendingRows,
    final: boolean,
    lane: KeyLane | undefined,
  ): number {
    pending.from(delivery);
    const { next, refusals } = transcodeContained(
      pending.transcoder,
      delivery.batch,
      from,
      to,
      pending.rows,
      this.#options.failed,
    );
    if (refusals.size > 0) this.#refuse({ delivery, refusals, lane }, final);
    else if (lane && next > from) pending.keyed(lane);
    if (next > from) lane?.settle();
    return next;
  }

  #refuse({ delivery, refusals, lane }: Held, final: boolean): void {
    const held = new Map<number, Refusal>();
    const counts = new Map<RefusalCode, number>();
    for (const [message, refusal] of refusals) {
      if (!final && refusal.code === "UNKNOWN_FIELD" && this.#mayBeKnownByNow(delivery, message)) {
        held.set(message, refusal);
      } else {
        delivery.refuse(message, refusal);
        counts.set(refusal.code, (counts.get(refusal.code) ?? 0) + 1);
        if (this.#options.refusedHoldsKey) lane?.failedBefore(delivery, message);
      }
    }
    for (const [code, count] of counts) this.#options.observer.refused(code, count);
    if (held.size > 0) void this.#held.hold(delivery, held, lane);
  }

  /** A column may have been added for the message since the table was seen. */
  #mayBeKnownByNow({ batch }: Delivery, message: number): boolean {
    const publishedMs = Number(batch.publishTimeMicros(message) / 1000n);
    return !this.#options.sawTableAfter(publishedMs + clockSkewMs);
  }

  /** The table is fresh: messages that were held become rows, or are refused for good. */
  #lookedAt(held: Held): void {
    let span: Span | undefined;
    for (const message of held.refusals.keys()) {
      if (held.lane) held.lane.letGo({ delivery: held.delivery, message, final: true });
      else span = this.#addAgain(span, held.delivery, message, true);
    }
    this.pump();
  }

  /** Takes over the messages of a request whose rows are of no use any more. */
  transcodeAgain(request: AppendRequest): void {
    const { pending } = request;
    const lanes = new Set<KeyLane>();
    let span: Span | undefined;
    request.forEachRow((row, delivery) => {
      const lane = pending.laneOf(row);
      if (lane) lanes.add(lane);
      else span = this.#addAgain(span, delivery, pending.rows.messageOf(row), false);
    });
    for (const lane of lanes) lane.takeBack();
    request.release();
    this.pump();
  }

  /** Adds a message to the span that was added last, or in a span of its own; returns the span. */
  #addAgain(last: Span | undefined, delivery: Delivery, message: number, final: boolean): Span | undefined {
    if (delivery.settled) return last;
    if (last?.delivery === delivery && last.to === message) {
      last.to++;
      return last;
    }
    const span = { delivery, next: message, to: message + 1, final };
    this.#spans.push(span);
    return span;
  }

  /** Gives up the messages here of some deliveries. Rows that were not submitted stay; they will not be sent. */
  abandon(given: (delivery: Delivery) => boolean): void {
    for (const span of this.#spans.takeAll()) {
      if (!given(span.delivery)) this.#spans.push(span);
      else this.#abandonSpan(span);
    }
    this.#lanes.abandon(given);
    this.#held.abandon(given);
    const filling = this.#batcher.filling;
    if (filling) abandonRows(new AppendRequest(filling, 0, 0), given);
  }

  #abandonSpan({ delivery, next, to }: Span): void {
    if (delivery.batch.hasOrderingKeys) this.#lanes.failAll(delivery, next, to);
    for (let i = next; i < to; i++) delivery.abandon(i);
  }

  close(): void {
    this.#batcher.close();
  }
}

/** Gives up the messages of a request that belong to some deliveries, and what comes behind them in their keys. */
export function abandonRows(request: AppendRequest, given: (delivery: Delivery) => boolean): void {
  request.forEachRow((row, delivery) => {
    if (given(delivery)) request.pending.abandon(row);
  });
}
