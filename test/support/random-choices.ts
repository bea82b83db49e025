/** Choices that a generator of test data makes: from a seed, or from fast-check, which can then shrink them. */

/** A whole number, `min` ≤ n ≤ `max`. */
export type Choose = (min: number, max: number) => number;

/** The choices of a seed, always the same (mulberry32). */
export function choicesOf(seed: number): Choose {
  let state = seed >>> 0;
  return (min, max) => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return min + Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * (max - min + 1));
  };
}

export function pick<T>(choose: Choose, from: readonly T[]): T {
  return from[choose(0, from.length - 1)]!;
}

/** True in `percent` of a hundred cases; shrinks to false. */
export function chance(choose: Choose, percent: number): boolean {
  return choose(0, 99) >= 100 - percent;
}

export function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

/** `count` digits; a chunk of nine is one choice. */
export function digits(choose: Choose, count: number): string {
  let text = "";
  while (text.length < count) text += String(choose(0, 999_999_999)).padStart(9, "0");
  return text.slice(0, count);
}

/** The same things in another order. */
export function shuffled<T>(choose: Choose, things: readonly T[]): T[] {
  const order = [...things];
  for (let i = order.length - 1; i > 0; i--) {
    const j = choose(0, i);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
