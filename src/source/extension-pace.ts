/**
 * When leases are extended, and by how many requests: one a second, unless leases would end before their turn. Pure.
 *
 * A lease is due early enough for all that is held to have its turn before it, one request
 * after the other; what is due stands in line by deadlines.
 */
import type { RequestLimits } from "./ack-requests.ts";
import type { LeasedBatch, LeasePart } from "./lease.ts";

/** A little more than a second, so that what the network does to two requests never brings them into the same one. */
const gapMs = 1100;
const minGapMs = 5;
/** An extension should arrive so long before the end of the lease. */
const reserveMs = 1000;
/** The least time between an extension and the deadline that it must beat: a second try fits in. */
const minGraceMs = 5000;
/** The same for the first one: the batch may have been on its way for long. */
const firstGraceMs = 9000;
/** Extensions that fall due within this time go together. */
export const coalesceMs = 1000;
/** The smaller the parts, the fuller the requests. */
const partsPerRequest = 10;
/** Tag and length of an ack id. */
const idHeadBytes = 3;
/** Of a request without its ids. */
const headBytes = 512;

/** How many requests these ids take, as a number that is not whole. */
export function requestsFor({ length, ackIdBytes }: LeasedBatch, limits: RequestLimits): number {
  const { maxIds, maxBytes, bytesPerId } = limits;
  const bytes = ackIdBytes + length * (idHeadBytes + bytesPerId);
  return Math.max(length / maxIds, bytes / (maxBytes - headBytes));
}

/** In how many parts a batch is extended. */
export function partsOf(batch: LeasedBatch, limits: RequestLimits): number {
  return Math.min(batch.length, Math.ceil(requestsFor(batch, limits) * partsPerRequest));
}

/**
 * How long before its deadline a lease is due.
 *
 * @param lengthMs  for how long it was granted
 * @param isFirst   nobody knows how long its batch was on its way
 * @param requests  what it takes to extend all that is held
 */
export function graceMs(lengthMs: number, isFirst: boolean, requests: number): number {
  return Math.max(isFirst ? firstGraceMs : minGraceMs, lengthMs / 10, reserveMs + requests * gapMs);
}

/**
 * The shortest extension, in seconds, after which no lease falls due again before all the others had their turn.
 *
 * @param requests what it takes to extend all that is held
 */
export function roundSeconds(requests: number): number {
  return Math.ceil(2.4 * requests) + 8;
}

/** The parts that are due within a second, by their deadlines, the earliest first; nothing while none is due now. */
export function lineOf<P extends LeasePart>(parts: readonly P[], now: number): P[] {
  const line = parts.filter(({ extendAt }) => extendAt <= now + coalesceMs);
  return line.some(({ extendAt }) => extendAt <= now) ? line.toSorted((a, b) => a.deadlineAt - b.deadlineAt) : [];
}

/** How many of these, from the first on, fit into one request; at least one. */
export function countForRequest(parts: readonly LeasePart[], limits: RequestLimits): number {
  let share = 0;
  for (let i = 0; i < parts.length; i++) {
    share += requestsFor(parts[i]!, limits);
    if (share > 1 + 1e-9) return Math.max(1, i);
  }
  return parts.length;
}

/**
 * How long to wait after a request before the next one.
 *
 * @param line what stands in line after it
 */
export function pauseBefore(line: readonly LeasePart[], limits: RequestLimits, now: number): number {
  let pause = gapMs;
  let requests = 0;
  for (const part of line) {
    requests += requestsFor(part, limits);
    // A lease that has ended gains nothing by haste.
    if (part.deadlineAt > now) pause = Math.min(pause, (part.deadlineAt - reserveMs - now) / Math.ceil(requests));
  }
  return Math.max(minGapMs, pause);
}
