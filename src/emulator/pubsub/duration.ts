/** `google.protobuf.Duration` and milliseconds. */

export interface Duration {
  readonly seconds: string | number;
  readonly nanos?: number;
}

/** Parts of a millisecond are kept. */
export function toDurationMs({ seconds, nanos = 0 }: Duration): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** Seconds as text, as int64 is decoded. */
export function fromDurationMs(ms: number): Duration {
  const seconds = Math.trunc(ms / 1000);
  return { seconds: String(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}
