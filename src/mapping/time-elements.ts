/** The elements of the option `format`: what each reads, as time-format.ts lists them. */
import type { TimeParts } from "./civil-time.ts";
import { fourDigits, isDigit, scanFraction, scanZoneName, setOffset } from "./time-literals.ts";

/** What an element tells about a date or time. */
export type Part = "year" | "month" | "day" | "weekday" | "hour" | "half" | "minute" | "second" | "zone" | "epoch";

/** Reads one element from offset `at` on and returns the offset behind it, or -1. */
type Step = (bytes: Buffer, at: number, end: number, parts: TimeParts) => number;

/** One element of a pattern. Literal text tells no part. */
export interface Element {
  readonly part?: Part;
  readonly step: Step;
  /** The step where a digit stands directly in front or behind: as many digits as there can be, no fewer. */
  readonly fixed: Step;
  readonly beginsWithDigit: boolean;
  readonly endsWithDigit: boolean;
  /** It would take digits for its own that stand directly behind. */
  readonly open?: true;
}

/** What elements leave for the end: it takes more than one of them to know. */
export const pending = { half: -1, weekday: -1 };

/** An element that reads a number of one or two digits between two bounds. */
function numeric(part: Part, low: number, high: number, set: (parts: TimeParts, value: number) => void): Element {
  const step =
    (minDigits: number): Step =>
    (bytes, at, end, parts) => {
      let value = 0;
      let digits = 0;
      for (; digits < 2 && at < end && isDigit(bytes[at]!); at++, digits++) value = value * 10 + bytes[at]! - 0x30;
      if (digits < minDigits || value < low || value > high) return -1;
      set(parts, value);
      return at;
    };
  return digits(part, step(1), step(2));
}

function digits(part: Part, step: Step, fixed: Step): Element {
  return { part, step, fixed, beginsWithDigit: true, endsWithDigit: true };
}

/** An element that reads text of its own kind: digits around it change nothing. */
function worded(part: Part, step: Step): Element {
  return { part, step, fixed: step, beginsWithDigit: false, endsWithDigit: false };
}

const months = "January February March April May June July August September October November December".split(" ");
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** An element that reads one of some names, whole or its first three letters, in any case. */
function named(part: Part, names: readonly string[], set: (parts: TimeParts, index: number) => void): Element {
  const lower = names.map((name) => Buffer.from(name.toLowerCase()));
  return worded(part, (bytes, at, end, parts) => {
    const index = lower.findIndex((name) => commonLength(bytes, at, end, name) >= 3);
    if (index < 0) return -1;
    set(parts, index);
    const name = lower[index]!;
    return at + (commonLength(bytes, at, end, name) === name.length ? name.length : 3);
  });
}

/** How many letters of a lower-case word the text has, in any case. */
function commonLength(bytes: Buffer, at: number, end: number, word: Buffer): number {
  let length = 0;
  while (length < word.length && at + length < end && (bytes[at + length]! | 0x20) === word[length]) length++;
  return length;
}

/** Text that stands for itself. */
export function literal(text: string): Element {
  const characters = Buffer.from(text);
  const step: Step = (bytes, at, end) => {
    if (at + characters.length > end) return -1;
    for (let i = 0; i < characters.length; i++) if (bytes[at + i] !== characters[i]) return -1;
    return at + characters.length;
  };
  return { step, fixed: step, beginsWithDigit: isDigit(characters[0]!), endsWithDigit: isDigit(characters.at(-1)!) };
}

const year4: Step = (bytes, at, end, parts) => {
  if (end - at < 4) return -1;
  parts.year = fourDigits(bytes, at);
  return parts.year < 0 ? -1 : at + 4;
};

const second = numeric("second", 0, 60, (parts, value) => {
  parts.second = value;
});

/** A second and its fraction, if one is written. */
function fractionalSecond(maxDigits: number): Element {
  const withFraction =
    (readSecond: Step): Step =>
    (bytes, at, end, parts) => {
      const point = readSecond(bytes, at, end, parts);
      if (point < 0 || point >= end || bytes[point] !== 0x2e || parts.second === 60) return point;
      const after = scanFraction(bytes, point + 1, end, parts);
      return after - point - 1 > maxDigits ? -1 : after;
    };
  return { ...digits("second", withFraction(second.step), withFraction(second.fixed)), open: true };
}

const day = numeric("day", 1, 31, (parts, value) => {
  parts.day = value;
});

/** The day, a blank in front of a single digit passed over. */
const blankDay: Step = (bytes, at, end, parts) => {
  const blank = bytes[at] === 0x20;
  const after = day.step(bytes, blank ? at + 1 : at, end, parts);
  return blank && after > at + 2 ? -1 : after;
};

const blankDayOfTwo: Step = (bytes, at, end, parts) => (blankDay(bytes, at, end, parts) === at + 2 ? at + 2 : -1);

export const hour12 = numeric("hour", 1, 12, (parts, value) => {
  parts.hour = value;
});

const half: Step = (bytes, at, end) => {
  if (end - at < 2 || (bytes[at + 1]! | 0x20) !== 0x6d) return -1;
  const letter = bytes[at]! | 0x20;
  if (letter !== 0x61 && letter !== 0x70) return -1;
  pending.half = letter === 0x61 ? 0 : 12;
  return at + 2;
};

/** `±HHMM`, or with a colon between. */
function offset(colon: boolean): Step {
  return (bytes, at, end, parts) => {
    const sign = bytes[at];
    if (colon && at < end && (sign! | 0x20) === 0x7a) return at + 1;
    const minuteAt = at + (colon ? 4 : 3);
    if (minuteAt + 2 > end || (sign !== 0x2b && sign !== 0x2d) || (colon && bytes[at + 3] !== 0x3a)) return -1;
    const hours = twoDigits(bytes, at + 1);
    const minutes = twoDigits(bytes, minuteAt);
    if (hours < 0 || minutes < 0) return -1;
    return setOffset(sign === 0x2d, hours, minutes, parts) ? minuteAt + 2 : -1;
  };
}

/** Two digits as a number; -1 when they are no digits. */
function twoDigits(bytes: Buffer, at: number): number {
  const [tens, ones] = [bytes[at]!, bytes[at + 1]!];
  return isDigit(tens) && isDigit(ones) ? (tens - 0x30) * 10 + ones - 0x30 : -1;
}

const zoneName: Step = (bytes, at, end, parts) => {
  const name = /^[A-Za-z][A-Za-z0-9_+/-]*/.exec(bytes.toString("latin1", at, Math.min(at + 64, end)))?.[0];
  return name === undefined ? -1 : scanZoneName(bytes, at, at + name.length, parts);
};

const epochSeconds: Step = (bytes, at, end, parts) => {
  const digits = /^-?\d{1,12}/.exec(bytes.toString("latin1", at, Math.min(at + 13, end)))?.[0];
  if (digits === undefined) return -1;
  parts.setSeconds(Number(digits));
  return at + digits.length;
};

const elementTable: Readonly<Record<string, Element>> = {
  "%Y": digits("year", year4, year4),
  "%y": numeric("year", 0, 99, (parts, value) => {
    parts.year = value < 69 ? 2000 + value : 1900 + value;
  }),
  "%m": numeric("month", 1, 12, (parts, value) => {
    parts.month = value;
  }),
  "%b": named("month", months, (parts, index) => {
    parts.month = index + 1;
  }),
  "%d": day,
  "%e": digits("day", blankDay, blankDayOfTwo),
  "%a": named("weekday", weekdays, (_parts, index) => {
    pending.weekday = index;
  }),
  "%H": numeric("hour", 0, 23, (parts, value) => {
    parts.hour = value;
  }),
  "%I": hour12,
  "%p": worded("half", half),
  "%M": numeric("minute", 0, 59, (parts, value) => {
    parts.minute = value;
  }),
  "%S": second,
  "%E*S": fractionalSecond(Number.POSITIVE_INFINITY),
  "%z": worded("zone", offset(false)),
  "%Ez": worded("zone", offset(true)),
  "%Z": { ...worded("zone", zoneName), open: true },
  "%s": { ...digits("epoch", epochSeconds, epochSeconds), open: true },
  "%%": literal("%"),
};

/** Other spellings of the same elements. */
const synonyms: Readonly<Record<string, string>> = { "%B": "%b", "%h": "%b", "%A": "%a" };

/** The element of this spelling, such as `%Y`; undefined when there is none. */
export function elementOf(text: string): Element | undefined {
  const digits = /^%E([1-9])S$/.exec(text)?.[1];
  if (digits !== undefined) return fractionalSecond(Number(digits));
  return elementTable[synonyms[text] ?? text];
}
