/** Which calls a fault of a script is for: by number, in turn, by chance, by time. All that is said must hold. */

export interface FaultWhen {
  /** `3`, `"3-5"`, `"3-"` or `"all"`; absent: all. */
  readonly call?: number | string | undefined;
  /** Only calls whose number this divides. */
  readonly every?: number | undefined;
  /** Only this share of them, chosen by chance: the same ones for the same seed. */
  readonly probability?: number | undefined;
  readonly seed?: number | undefined;
  /** Only from and until this long after the script was set. */
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
  /** Once due, due for this many calls in a row. */
  readonly burst?: number | undefined;
}

export class FaultTiming {
  readonly #when: FaultWhen;
  readonly #salt: number;
  /** The last call of the burst that was begun last. */
  #burstTo = 0;

  /** @param place of the fault in its script: faults of one seed are not due together */
  constructor(when: FaultWhen, place: number) {
    this.#when = when;
    this.#salt = place;
  }

  /**
   * @param number of the call, from 1
   * @param elapsedMs since the script was set
   */
  isDue(number: number, elapsedMs: number): boolean {
    if (number <= this.#burstTo) return true;
    if (!this.#begins(number, elapsedMs)) return false;
    this.#burstTo = number + (this.#when.burst ?? 1) - 1;
    return true;
  }

  #begins(number: number, elapsedMs: number): boolean {
    const { call = "all", every = 1, probability = 1, seed = 0, fromMs = 0, untilMs = Infinity } = this.#when;
    return (
      covers(call, number) &&
      number % every === 0 &&
      elapsedMs >= fromMs &&
      elapsedMs < untilMs &&
      (probability === 1 || chance(seed, this.#salt, number) < probability)
    );
  }
}

function covers(call: number | string, number: number): boolean {
  if (call === "all") return true;
  if (typeof call === "number") return call === number;
  const [first, last] = call.split("-");
  return number >= Number(first) && (last === "" || number <= Number(last));
}

/** From 0 to 1, evenly spread and always the same for the same numbers: what a call gets hangs on no other call. */
function chance(...numbers: readonly number[]): number {
  let hash = 0x9e3779b9;
  for (const number of numbers) {
    hash = Math.imul(hash ^ number, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash ^= hash >>> 16;
  }
  return (hash >>> 0) / 2 ** 32;
}
