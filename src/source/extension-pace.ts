/**
 * Which leases are extended by the next request, and when the one after it may go: one request a second, unless leases would
 * end before their turn. Pure.
 */
import type { RequestLimits } from "./ack-requests.ts";

/** A lease that falls due. */
export interface DueLease {
  readonly batch: ExtendableBatch;
  /** Until when the service keeps its promise, on the monotonic clock. */
  readonly deadlineAt: number;
}

export interface ExtendableBatch {
  readonly length: number;
  /** Bytes of all ack ids of the batch. */
  readonly ackIdBytes: number;
}

/** A little more than a second, so that what the network does to two requests never brings them into the same one. */
const gapMs = 1100;
const minGapMs = 50;
/** An extension should arrive so long before the end of the lease. */
const reserveMs = 2000;
/** Tag and length of an ack id. */
const idHeadBytes = 3;
/** Of a request without its ids. */
const headBytes = 512;

/** How many requests the ids of a batch take, as a number that is not whole. */
function shareOfRequest(
  { length, ackIdBytes }: ExtendableBatch,
  { maxIds, maxBytes, bytesPerId }: RequestLimits,
): number {
  const bytes = ackIdBytes + length * (idHeadBytes + bytesPerId);
  return Math.max(length / maxIds, bytes / (maxBytes - headBytes));
}

/** How many leases, from the first on, fit into one request; at least one. */
export function countForRequest(leases: readonly DueLease[], limits: RequestLimits): number {
  let share = 0;
  for (let i = 0; i < leases.length; i++) {
    share += shareOfRequest(leases[i]!.batch, limits);
    if (share > 1) return Math.max(1, i);
  }
  return leases.length;
}

/** How many requests it takes to extend all of these once. */
export function requestsFor(batches: Iterable<ExtendableBatch>, limits: RequestLimits): number {
  let share = 0;
  for (const batch of batches) share += shareOfRequest(batch, limits);
  return Math.ceil(share);
}

/**
 * How long to wait after a request before the next one.
 *
 * @param waiting leases that fall due, by their deadlines, the earliest first
 */
export function pauseBefore(waiting: readonly DueLease[], limits: RequestLimits, now: number): number {
  let pause = gapMs;
  let requests = 0;
  for (const { batch, deadlineAt } of waiting) {
    requests += shareOfRequest(batch, limits);
    // A lease that has ended gains nothing by haste.
    if (deadlineAt > now) pause = Math.min(pause, (deadlineAt - reserveMs - now) / Math.ceil(requests));
  }
  return Math.max(minGapMs, pause);
}

/**
 * The shortest extension, in seconds, after which no lease falls due again before all the others had their turn.
 *
 * @param requests as `requestsFor`
 */
export function roundSeconds(requests: number): number {
  return 2 * requests + 8;
}
