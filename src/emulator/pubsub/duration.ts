/** `google.protobuf.Duration`, `google.protobuf.Timestamp` and milliseconds. Parts of a millisecond are kept. */

export interface Duration {
  readonly seconds: string | number;
  readonly nanos?: number;
}

/** Since 1970-01-01 UTC. */
export type Timestamp = Duration;

export function toDurationMs({ seconds, nanos = 0 }: Duration): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** Seconds as text, as int64 is decoded. */
export function fromDurationMs(ms: number): Duration {
  const seconds = Math.trunc(ms / 1000);
  return { seconds: String(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

/** Milliseconds since 1970-01-01 UTC. */
export function fromTimestamp(timestamp: Timestamp): number {
  return toDurationMs(timestamp);
}

/** Its nanoseconds are not negative, whatever the time. */
export function toTimestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return { seconds: String(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}
