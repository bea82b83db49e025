/** The time, injected wherever time matters, so that tests run on a virtual clock. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some fixed moment; never jumps. Durations and deadlines are measured with it. */
  monotonic(): number;
  /** Calls `callback` once, `delayMs` milliseconds from now. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

export interface Timer {
  cancel(): void;
}

/** setTimeout's limit: longer delays would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(callback, delayMs) {
    const timeout = setTimeout(callback, Math.min(Math.max(delayMs, 0), maxDelayMs));
    return { cancel: () => clearTimeout(timeout) };
  },
};

/** Resolves after `delayMs` milliseconds of the clock, or at once when `signal` is (or becomes) aborted. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.setTimer(done, delayMs);
    signal?.addEventListener("abort", done, { once: true });
  });
}
