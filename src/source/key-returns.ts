/**
 * Messages of ordering keys that were given back, and are expected to come again in their order. Until then what comes of the
 * key is too early: Pub/Sub takes a message that is given back for a while as held, and goes on with those behind it.
 */

/** So long after its pause a message is waited for; then it has gone another way: to another replica, or to a dead-letter topic. */
const patienceMs = 60_000;
/** What comes too early although the pause is over is given back for so long at least. */
const minPauseMs = 1000;

interface Expected {
  /** IDs in the order in which they are to come. */
  ids: Set<string>;
  /** When the first of them is due, on the monotonic clock. */
  backAt: number;
  /** When the last of them is. */
  lastBackAt: number;
  /** They are not waited for any longer; Infinity while some of them are not given back yet. */
  until: number;
}

export class KeyReturns {
  readonly #keys = new Map<string, Expected>();
  #sweepAt = 0;

  /** Number of keys that are waited for. */
  get size(): number {
    return this.#keys.size;
  }

  /**
   * Messages of a key are given back that were let on: they come before all that is waited for already.
   *
   * @param ids      in their order; empty when they are known, and only now given back
   * @param backAt   when the first of them may come again, on the monotonic clock
   * @param complete all of them are given back now; otherwise they are waited for until they are
   */
  giveBack(key: string, ids: readonly string[], backAt: number, complete: boolean, now: number): void {
    this.#sweep(now);
    const expected = this.#expectedOf(key, now) ?? nothingExpected(backAt);
    if (ids.length > 0) {
      expected.ids = new Set([...ids, ...expected.ids]);
      expected.backAt = backAt;
      expected.lastBackAt = Math.max(expected.lastBackAt, backAt);
    }
    if (expected.ids.size === 0) return;
    expected.until = complete ? Math.max(expected.lastBackAt, now) + patienceMs : Infinity;
    this.#keys.set(key, expected);
  }

  /** A message of a key was on its way and is not ours: it comes again, behind all that is waited for already. */
  expect(key: string, messageId: string, now: number): void {
    this.#sweep(now);
    const expected = this.#expectedOf(key, now) ?? nothingExpected(now);
    expected.ids.add(messageId);
    this.#keys.set(key, expected);
  }

  /**
   * A message of a key has come.
   *
   * @returns until when it has to be given back because another one must come first; undefined: it may go on
   */
  admit(key: string, messageId: string, now: number): number | undefined {
    const expected = this.#expectedOf(key, now);
    if (!expected) return undefined;
    const [first] = expected.ids;
    if (first !== messageId) {
      expected.ids.add(messageId);
      return Math.max(expected.backAt, now + minPauseMs);
    }
    expected.ids.delete(messageId);
    expected.until = Math.max(expected.until, now + patienceMs);
    if (expected.ids.size === 0) this.#keys.delete(key);
    return undefined;
  }

  #expectedOf(key: string, now: number): Expected | undefined {
    const expected = this.#keys.get(key);
    if (!expected || expected.until > now) return expected;
    this.#keys.delete(key);
    return undefined;
  }

  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + patienceMs;
    for (const key of this.#keys.keys()) this.#expectedOf(key, now);
  }
}

function nothingExpected(backAt: number): Expected {
  return { ids: new Set(), backAt, lastBackAt: backAt, until: backAt + patienceMs };
}
