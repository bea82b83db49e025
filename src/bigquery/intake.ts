/**
 * Where messages become rows: deliveries wait here in order, are transcoded as long as requests find room, and
 * leave as requests. Messages with an unknown field wait for a look at the table before they are refused.
 */
import type { Clock, Timer } from "../lib/clock.ts";
import type { MemoryShare } from "../lib/memory-share.ts";
import type { Transcoder } from "../transcode/transcoder.ts";
import type { RowBatch } from "../write/row-batch.ts";
import type { AppendOptions, BatchOptions } from "./append-options.ts";
import { AppendRequest } from "./append-request.ts";
import { Batcher } from "./batcher.ts";
import type { Delivery } from "./delivery.ts";
import { type Held, HeldMessages } from "./held-messages.ts";
import type { KeyLane } from "./key-lane.ts";
import { KeyLanes } from "./key-lanes.ts";
import { PendingRows } from "./pending-rows.ts";
import { requestOverhead } from "./request-bytes.ts";
import { RowBatchPool } from "./row-batch-pool.ts";
import { RowWriter, type RowWriterOptions } from "./row-writer.ts";
import { type Span, Spans } from "./spans.ts";

export interface IntakeOptions extends Omit<RowWriterOptions, "lanes" | "held"> {
  readonly batch: BatchOptions;
  readonly append: AppendOptions;
  /** Name and trace ID take room in requests. */
  readonly writeStream: string;
  readonly traceId: string;
  readonly clock: Clock;
  readonly memory: MemoryShare;
  /** Another request would be sent soon. */
  readonly room: () => boolean;
  readonly submit: (request: AppendRequest) => void;
  /** Has the table looked at; resolves when that is done. Never rejects. */
  readonly refresh: () => Promise<void>;
}

export class Intake {
  readonly #options: IntakeOptions;
  readonly #batcher: Batcher;
  readonly #batches: RowBatchPool;
  readonly #spans: Spans;
  readonly #lanes: KeyLanes;
  readonly #held: HeldMessages;
  readonly #writer: RowWriter;
  /** The rows that the budget is charged for. */
  readonly #submitted = new Set<RowBatch>();
  #transcoder: Transcoder | undefined;
  #requests = 0;
  #hurry = false;
  #resting: Timer | undefined;
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
          if (this.#submitted.delete(rows)) options.memory.discharge(memoryOf(rows));
          this.#batches.give(rows);
        }),
      onDue: () => this.pump(),
    });
    this.#spans = new Spans(clock);
    this.#lanes = new KeyLanes(clock);
    this.#held = new HeldMessages({
      refresh: options.refresh,
      lookedAt: (held) => this.#lookedAt(held),
    });
    this.#writer = new RowWriter({ ...options, lanes: this.#lanes, held: this.#held });
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
    this.#spans.add(delivery);
    this.pump();
  }

  /** The fates of a delivery are known to the caller from now on. */
  settled(delivery: Delivery): void {
    this.#lanes.settled(delivery, this.#spans.first?.sinceMs ?? this.#options.clock.monotonic());
  }

  /** Rows no longer wait for others. */
  hurry(): void {
    this.#hurry = true;
    this.goOn();
  }

  /** The table may have changed: messages wait until `goOn`, at most so long. */
  rest(maxMs: number): void {
    this.#resting?.cancel();
    this.#resting = this.#options.clock.setTimer(() => this.goOn(), maxMs);
  }

  goOn(): void {
    this.#resting?.cancel();
    this.#resting = undefined;
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
    this.#submitted.add(pending.rows);
    this.#options.memory.charge(memoryOf(pending.rows));
    this.#options.submit(new AppendRequest(pending, this.#requests++, readyAtMs));
    return true;
  }

  #transcodeNext(): boolean {
    const transcoder = this.#transcoder;
    const lane = this.#lanes.ready;
    const span = this.#spans.first;
    if (!transcoder || this.#resting || (!lane && !span)) return false;
    if (!lane && span!.delivery.settled) {
      this.#spans.shift();
      return true;
    }
    const pending = this.#batcher.open(transcoder);
    // Full, and no room for a request: the answer to one in flight makes room.
    if (!pending) return this.#options.room();
    const all = lane ? this.#writer.takeLane(lane, pending) : this.#writer.takeSpan(span!, pending);
    if (!all) this.#batcher.finish();
    else if (!lane) this.#spans.shift();
    this.#batcher.added();
    return true;
  }

  /** The table is fresh: messages that were held become rows, or are refused for good. */
  #lookedAt({ delivery, refusals, lane }: Held): void {
    for (const message of refusals.keys()) {
      if (lane) lane.letGo({ delivery, message, final: true });
      else this.#spans.addAgain(delivery, message, true);
    }
    this.pump();
  }

  /** Takes over the messages of a request whose rows are of no use any more. */
  transcodeAgain(request: AppendRequest): void {
    const { pending } = request;
    const lanes = new Set<KeyLane>();
    request.forEachRow((row, delivery) => {
      const lane = pending.laneOf(row);
      if (lane) lanes.add(lane);
      else this.#spans.addAgain(delivery, pending.rows.messageOf(row), false);
    });
    for (const lane of lanes) lane.takeBack();
    request.release();
    this.pump();
  }

  /** Gives up the messages here of some deliveries. Rows that were not submitted stay; they will not be sent. */
  abandon(given: (delivery: Delivery) => boolean): void {
    for (const span of this.#spans.remove(given)) this.#abandonSpan(span);
    this.#lanes.abandon(given);
    this.#held.abandon(given);
    const filling = this.#batcher.filling;
    if (filling) new AppendRequest(filling, 0, 0).abandon(given);
  }

  #abandonSpan({ delivery, next, to }: Span): void {
    if (delivery.batch.hasOrderingKeys) this.#lanes.failAll(delivery, next, to);
    for (let i = next; i < to; i++) delivery.abandon(i);
  }

  close(): void {
    this.#resting?.cancel();
    this.#batcher.close();
  }
}

/** Bytes that rows take on their way: once as they are kept for another try, once more as gRPC's frame. */
function memoryOf(rows: RowBatch): number {
  return 2 * rows.byteLength;
}
