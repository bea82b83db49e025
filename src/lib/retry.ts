/** Bounds of a backoff, in milliseconds. */
export interface BackoffBounds {
  readonly initialMs: number;
  readonly maxMs: number;
}

/**
 * Exponential backoff with full jitter: a random pause between 0 and `initialMs × 2^attempt`, capped at `maxMs`.
 * Full jitter spreads the clients of a server that comes back.
 *
 * @param attempt 0 for the first retry
 * @param random  a number from 0 (inclusive) to 1 (exclusive)
 */
export function backoffMs(attempt: number, bounds: BackoffBounds, random: () => number = Math.random): number {
  const ceiling = Math.min(bounds.maxMs, bounds.initialMs * 2 ** Math.min(attempt, 30));
  return random() * ceiling;
}
