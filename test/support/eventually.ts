/** How long servers of other makers get to start: on a busy machine a Java program needs half a minute. */
export const startTimeoutMs = 120_000;

/**
 * Waits for something that real servers and processes do in their own time.
 *
 * @param probe  gives a value when it has happened, undefined while it has not
 * @param what   named in the error when it does not happen within `timeoutMs`
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 40_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < deadline) {
    try {
      const value = await probe();
      if (value !== undefined) return value;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${what}: did not happen within ${timeoutMs} ms`, { cause: last });
}
