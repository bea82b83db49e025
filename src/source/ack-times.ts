/** How long messages take from their arrival to their settlement: a histogram by whole seconds. */

/** The longest deadline the service grants; longer times count as this one. */
const maxSeconds = 600;

/** At this weight all counts are halved, so that old days fade. */
const fullWeight = 2 ** 20;

export class AckTimes {
  /** Messages by seconds, rounded up. */
  readonly #counts = new Float64Array(maxSeconds + 1);
  #total = 0;

  record(ms: number, messages: number): void {
    this.#counts[bucket(ms)]! += messages;
    this.#total += messages;
    if (this.#total >= fullWeight) this.#fade();
  }

  /**
   * The number of seconds within which 99 of 100 messages are settled; 0 when nothing is known.
   *
   * @param held messages that are not settled yet, with the time they have waited so far: they will take at least that long
   */
  percentile99(held: Iterable<{ readonly ageMs: number; readonly messages: number }> = []): number {
    const counts = this.#counts.slice();
    let total = this.#total;
    for (const { ageMs, messages } of held) {
      counts[bucket(ageMs)]! += messages;
      total += messages;
    }
    let below = 0;
    for (let seconds = 0; seconds < maxSeconds; seconds++) {
      below += counts[seconds]!;
      if (below >= total * 0.99) return seconds;
    }
    return maxSeconds;
  }

  #fade(): void {
    for (let seconds = 0; seconds <= maxSeconds; seconds++) this.#counts[seconds]! /= 2;
    this.#total /= 2;
  }
}

function bucket(ms: number): number {
  return Math.min(maxSeconds, Math.max(0, Math.ceil(ms / 1000)));
}
