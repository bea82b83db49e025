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
  /** Groups of them that the service does not know to be given back yet. */
  open: number;
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
   * @param ids    in their order
   * @param backAt when the first of them may come again, on the monotonic clock
   * @param groups `returned` will be called so often: until then they are waited for
   */
  giveBack(key: string, ids: readonly string[], backAt: number, groups: number, now: number): void {
    const expected = this.#expect(key, backAt, now);
    expected.ids = new Set([...ids, ...expected.ids]);
    expected.backAt = backAt;
    expected.open += groups;
    this.delay(key, backAt);
  }

  /**
   * A group of them is given back.
   *
   * @param atLatest when it may come again at the latest, on the monotonic clock
   */
  returned(key: string, atLatest: number): void {
    const expected = this.#keys.get(key);
    if (!expected) return;
    expected.open--;
    this.delay(key, atLatest);
    this.#forgetIfDone(key, expected);
  }

  /** Something that is waited for may not come before this moment. */
  delay(key: string, atLatest: number): void {
    const expected = this.#keys.get(key);
    if (expected) expected.lastBackAt = Math.max(expected.lastBackAt, atLatest);
  }

  /**
   * A message of a key was on its way and is not ours: it comes again, behind all that is waited for already.
   *
   * @param atLatest when it may come again at the latest, on the monotonic clock
   */
  expect(key: string, messageId: string, atLatest: number, now: number): void {
    const expected = this.#expect(key, now, now);
    expected.ids.add(messageId);
    this.delay(key, atLatest);
  }

  /**
   * A message of a key has come.
   *
   * @returns until when it has to be given back because another one must come first; undefined: it may go on
   */
  admit(key: string, messageId: string, now: number): number | undefined {
    const expected = this.#expectedOf(key, now);
    if (!expected || expected.ids.size === 0) return undefined;
    const [first] = expected.ids;
    if (first !== messageId) {
      expected.ids.add(messageId);
      return Math.max(expected.backAt, now + minPauseMs);
    }
    expected.ids.delete(messageId);
    this.delay(key, now);
    this.#forgetIfDone(key, expected);
    return undefined;
  }

  /** What is expected of a key, to be added to. */
  #expect(key: string, backAt: number, now: number): Expected {
    this.#sweep(now);
    const known = this.#expectedOf(key, now);
    if (known) return known;
    const expected: Expected = { ids: new Set(), backAt, lastBackAt: backAt, open: 0 };
    this.#keys.set(key, expected);
    return expected;
  }

  #expectedOf(key: string, now: number): Expected | undefined {
    const expected = this.#keys.get(key);
    if (!expected || expected.open > 0 || now < expected.lastBackAt + patienceMs) return expected;
    this.#keys.delete(key);
    return undefined;
  }

  #forgetIfDone(key: string, { ids, open }: Expected): void {
    if (ids.size === 0 && open === 0) this.#keys.delete(key);
  }

  #sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + patienceMs;
    for (const key of this.#keys.keys()) this.#expectedOf(key, now);
  }
}

/**
 * The same apart for each of the subscriptions that have had the name: one that was deleted delivers nothing again, and what
 * was given back to it must not be waited for.
 */
export class ReturnsByGeneration {
  #generation = 0;
  #returns = new KeyReturns();
  #before = new KeyReturns();

  /** @param generation counts the subscriptions of the name; of those before the last two nothing is known */
  of(generation: number): KeyReturns {
    if (generation > this.#generation) {
      this.#before = generation === this.#generation + 1 ? this.#returns : new KeyReturns();
      this.#returns = new KeyReturns();
      this.#generation = generation;
    }
    if (generation === this.#generation) return this.#returns;
    return generation === this.#generation - 1 ? this.#before : new KeyReturns();
  }
}
