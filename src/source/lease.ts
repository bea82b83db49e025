/** What is kept of a batch under lease. Its parts are extended apart from each other, so that they fill requests. */

export interface LeasedBatch {
  readonly length: number;
  /** Bytes of all ack ids of the batch. */
  readonly ackIdBytes: number;
}

export interface Lease<B extends LeasedBatch> {
  readonly batch: B;
  readonly receivedAt: number;
  readonly parts: readonly LeasePart<B>[];
  /** Messages that must not or cannot be extended: given back on settlement, or the service does not know them. */
  leftOut: Set<number> | undefined;
  settling: boolean;
  /** Given back, or left to its deadline. */
  ended: boolean;
}

/** Messages `from` to `to`, the latter excluded, of a batch. Times are on the monotonic clock. */
export interface LeasePart<B extends LeasedBatch = LeasedBatch> extends LeasedBatch {
  readonly lease: Lease<B>;
  readonly from: number;
  readonly to: number;
  /** Until when the service keeps its promise. */
  deadlineAt: number;
  /** When the next extension is due; Infinity while one is under way and after the lease has ended. */
  extendAt: number;
  /** The lease has ended once before it could be extended. */
  expired: boolean;
}

/** A lease in so many parts of about the same length. */
export function leaseInParts<B extends LeasedBatch>(
  batch: B,
  count: number,
  times: { readonly receivedAt: number; readonly deadlineAt: number; readonly extendAt: number },
): Lease<B> {
  const { receivedAt, deadlineAt, extendAt } = times;
  const parts: LeasePart<B>[] = [];
  const lease: Lease<B> = { batch, receivedAt, parts, leftOut: undefined, settling: false, ended: false };
  for (let k = 0; k < count; k++) {
    const from = Math.round((k * batch.length) / count);
    const to = Math.round(((k + 1) * batch.length) / count);
    const length = to - from;
    const ackIdBytes = (batch.ackIdBytes * length) / batch.length;
    parts.push({ lease, from, to, length, ackIdBytes, deadlineAt, extendAt, expired: false });
  }
  return lease;
}

/** Indices of the messages of a part that may be extended; undefined: the whole batch. */
export function extendable({ lease, from, to }: LeasePart): readonly number[] | undefined {
  const { batch, leftOut } = lease;
  if (!leftOut && to - from === batch.length) return undefined;
  return Array.from({ length: to - from }, (_, i) => from + i).filter((i) => !leftOut?.has(i));
}
