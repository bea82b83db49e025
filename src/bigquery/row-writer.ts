/** Writes messages as rows of the batch that is being filled, and decides what becomes of those that are none. */
import type { Refusal, RefusalCode } from "../errors.ts";
import type { AppendObserver } from "./append-observer.ts";
import { transcodeContained } from "./contained-transcoding.ts";
import type { Delivery } from "./delivery.ts";
import type { Held, HeldMessages } from "./held-messages.ts";
import type { KeyLane } from "./key-lane.ts";
import type { KeyLanes } from "./key-lanes.ts";
import type { PendingRows } from "./pending-rows.ts";
import type { Span } from "./spans.ts";

export interface RowWriterOptions {
  readonly lanes: KeyLanes;
  readonly held: HeldMessages;
  readonly observer: Pick<AppendObserver, "refused">;
  /** When a message with an ordering key is refused, what comes behind it in its key is given back. */
  readonly refusedHoldsKey: boolean;
  /** The table was seen after a moment of the wall clock, and not long ago. */
  readonly sawTableAfter: (wallMs: number) => boolean;
  /** So many messages raised an exception; the first one is given. They are refused. */
  readonly failed: (error: unknown, messages: number) => void;
}

/** Allowed difference between our clock and the one that stamps messages. */
const clockSkewMs = 1000;

export class RowWriter {
  readonly #options: RowWriterOptions;

  constructor(options: RowWriterOptions) {
    this.#options = options;
  }

  /** Returns false when the batch of rows became full before all messages of the span were looked at. */
  takeSpan(span: Span, pending: PendingRows): boolean {
    if (span.delivery.batch.hasOrderingKeys) this.#takeOneByOne(span, pending);
    else span.next = this.#transcode(span.delivery, span.next, span.to, pending, span.final, undefined);
    return span.next === span.to;
  }

  #takeOneByOne(span: Span, pending: PendingRows): void {
    const { delivery, to, final, sinceMs } = span;
    const { lanes } = this.#options;
    for (; span.next < to; span.next++) {
      const message = span.next;
      const key = delivery.batch.orderingKey(message);
      if (key !== "" && lanes.failed(key, delivery, message, sinceMs)) {
        delivery.abandon(message);
        continue;
      }
      const lane = key === "" ? undefined : lanes.of(key);
      if (lane?.mustWait(pending)) lane.wait({ delivery, message, final });
      else if (this.#transcode(delivery, message, message + 1, pending, final, lane) === message) {
        lane?.settle();
        return;
      }
    }
  }

  /** Takes the lane that is ready. Returns false when the batch of rows became full before all its messages were looked at. */
  takeLane(lane: KeyLane, pending: PendingRows): boolean {
    while (lane.next && !lane.blocked(pending)) {
      const waiting = lane.next;
      const { delivery, message, final } = waiting;
      lane.shift();
      if (this.#transcode(delivery, message, message + 1, pending, final, lane) > message) continue;
      lane.putFirst(waiting);
      // Those that follow rows in a full batch wait for their fate; others are next.
      if (lane.firstRow !== undefined) this.#options.lanes.shift();
      return false;
    }
    this.#options.lanes.shift();
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
    if (held.size > 0) void this.#options.held.hold(delivery, held, lane);
  }

  /** A column may have been added for the message since the table was seen. */
  #mayBeKnownByNow({ batch }: Delivery, message: number): boolean {
    const publishedMs = Number(batch.publishTimeMicros(message) / 1000n);
    return !this.#options.sawTableAfter(publishedMs + clockSkewMs);
  }
}
