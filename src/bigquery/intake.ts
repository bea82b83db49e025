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
import type { Delivery } from "./delivery.ts";
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
  /** The table was seen after a moment of the wall clock, and not long ago. */
  readonly sawTableAfter: (wallMs: number) => boolean;
  /** Has the table looked at; resolves when that is done. Never rejects. */
  readonly refresh: () => Promise<void>;
}

/** Messages of a delivery that are to be transcoded: `next` ≤ i < `to`. */
interface Span {
  readonly delivery: Delivery;
  next: number;
  to: number;
  /** Unknown fields are refused at once: the table was looked at because of them. */
  readonly final: boolean;
}

/** Messages with an unknown field that wait for a look at the table. */
interface Held {
  readonly delivery: Delivery;
  readonly refusals: ReadonlyMap<number, Refusal>;
}

/** Allowed difference between our clock and the one that stamps messages. */
const clockSkewMs = 1000;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #batcher: Batcher;
  readonly #batches: RowBatchPool;
  readonly #spans = new Queue<Span>();
  readonly #held = new Set<Held>();
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
    const idle = this.#spans.length === 0 || !this.#transcoder;
    const due = this.#batcher.due || (this.#hurry && idle && this.#batcher.filled);
    if (!due || !this.#options.room()) return false;
    const { pending, readyAtMs } = this.#batcher.take();
    this.#options.submit(new AppendRequest(pending, this.#requests++, readyAtMs));
    return true;
  }

  #transcodeNext(): boolean {
    const span = this.#spans.first;
    const transcoder = this.#transcoder;
    if (!span || !transcoder) return false;
    if (span.delivery.settled) {
      this.#spans.shift();
      return true;
    }
    const pending = this.#batcher.open(transcoder);
    // Full, and no room for a request: the answer to one in flight makes room.
    if (!pending) return this.#options.room();
    this.#transcode(span, transcoder, pending);
    return true;
  }

  #transcode(span: Span, transcoder: Transcoder, pending: PendingRows): void {
    pending.from(span.delivery);
    const { next, refusals } = transcoder.transcode(span.delivery.batch, span.next, span.to, pending.rows);
    span.next = next;
    if (next === span.to) this.#spans.shift();
    else this.#batcher.finish();
    this.#batcher.added();
    if (refusals.size > 0) this.#refuse(span, refusals);
  }

  #refuse({ delivery, final }: Span, refusals: ReadonlyMap<number, Refusal>): void {
    const held = new Map<number, Refusal>();
    const counts = new Map<RefusalCode, number>();
    for (const [message, refusal] of refusals) {
      if (!final && refusal.code === "UNKNOWN_FIELD" && this.#mayBeKnownByNow(delivery, message)) {
        held.set(message, refusal);
      } else {
        delivery.refuse(message, refusal);
        counts.set(refusal.code, (counts.get(refusal.code) ?? 0) + 1);
      }
    }
    for (const [code, count] of counts) this.#options.observer.refused(code, count);
    if (held.size > 0) void this.#holdUntilRefresh({ delivery, refusals: held });
  }

  /** A column may have been added for the message since the table was seen. */
  #mayBeKnownByNow({ batch }: Delivery, message: number): boolean {
    const publishedMs = Number(batch.publishTimeMicros(message) / 1000n);
    return !this.#options.sawTableAfter(publishedMs + clockSkewMs);
  }

  async #holdUntilRefresh(held: Held): Promise<void> {
    const before = this.#transcoder;
    this.#held.add(held);
    await this.#options.refresh();
    if (!this.#held.delete(held)) return;
    const { delivery, refusals } = held;
    if (this.#transcoder === before) {
      for (const [message, refusal] of refusals) delivery.refuse(message, refusal);
      this.#options.observer.refused("UNKNOWN_FIELD", refusals.size);
    } else {
      let span: Span | undefined;
      for (const message of refusals.keys()) span = this.#addAgain(span, delivery, message, true);
    }
    this.pump();
  }

  /** Takes over the messages of a request whose rows are of no use any more. */
  transcodeAgain(request: AppendRequest): void {
    let span: Span | undefined;
    request.forEachMessage((delivery, message) => {
      span = this.#addAgain(span, delivery, message, false);
    });
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
      else for (let i = span.next; i < span.to; i++) span.delivery.abandon(i);
    }
    for (const held of this.#held) {
      if (!given(held.delivery)) continue;
      this.#held.delete(held);
      for (const message of held.refusals.keys()) held.delivery.abandon(message);
    }
    const filling = this.#batcher.filling;
    if (filling) abandonRows(new AppendRequest(filling, 0, 0), given);
  }

  close(): void {
    this.#batcher.close();
  }
}

/** Gives up the messages of a request that belong to some deliveries. */
export function abandonRows(request: AppendRequest, given: (delivery: Delivery) => boolean): void {
  request.forEachMessage((delivery, message) => {
    if (given(delivery)) delivery.abandon(message);
  });
}
