/** Texts in words of four bytes: which of them are plain characters, that stand for themselves. */

/** The high bit of each byte of a word. */
export const highBits = 0x80808080 | 0;

/**
 * Which of four bytes end a run of plain characters: the high bit of the first (lowest) byte that is a quote, a backslash or
 * a control character is set, none when there is no such byte. Bits above the first are not to be trusted.
 */
export function stopBits(word: number): number {
  // With its second bit turned, the quote lies right above the control characters, and these stay among themselves.
  const quotesAndControls = (word ^ 0x02020202) - 0x21212121;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (quotesAndControls | backslashes) & ~word & 0x80808080;
}

/** How many bytes stand before the first that `stopBits` marks. */
export function bytesBeforeStop(stops: number): number {
  return (31 - Math.clz32(stops & -stops)) >> 3;
}
