/**
 * The option `format`: a pattern for dates and times that are not written in BigQuery's literal grammar. Its elements
 * are those of BigQuery's own PARSE_DATE, PARSE_TIME, PARSE_DATETIME and PARSE_TIMESTAMP:
 *
 * | element | reads |
 * | --- | --- |
 * | `%Y` `%y` | year of four digits; of two: 69–99 are 1969–1999, 00–68 are 2000–2068 |
 * | `%m` `%b` `%B` `%h` | month as a number; by its English name, short or whole, in any case |
 * | `%d` `%e` | day of the month; `%e` may have a blank in front of a single digit |
 * | `%a` `%A` | English name of the weekday, short or whole; it must be the weekday of the date |
 * | `%H` `%I` `%p` | hour 0–23; hour 1–12, together with AM or PM |
 * | `%M` | minute |
 * | `%S` `%E*S` `%E3S` | second; with a fraction of any length, of at most so many digits (1–9) |
 * | `%z` `%Ez` `%Z` | offset `+HHMM`; `+HH:MM` or `Z`; `UTC`, `GMT` or a name of the tz database |
 * | `%s` | seconds since the epoch, alone |
 * | `%F` `%T` `%R` `%D` | `%Y-%m-%d`, `%H:%M:%S`, `%H:%M`, `%m/%d/%y` |
 * | `%%` | a percent sign |
 *
 * Anything else stands for itself. Numbers of two digits may be written with one, unless a digit follows directly.
 * The pattern must read the whole text. Parts of the time that it lacks are zero, a zone that it lacks is UTC.
 */
import { SetupError } from "../errors.ts";
import type { TimeParts } from "./civil-time.ts";
import { fourDigits, isDigit, scanFraction, scanZoneName, setOffset } from "./time-literals.ts";
import type { TimeReader } from "./time-literals.ts";

/** Column types that a format can read. */
export type FormattedType = "DATE" | "TIME" | "DATETIME" | "TIMESTAMP";

/** What an element tells about a date or time. */
type Part = "year" | "month" | "day" | "weekday" | "hour" | "half" | "minute" | "second" | "zone" | "epoch";

/** Reads one element from offset `at` on and returns the offset behind it, or -1. */
type Step = (bytes: Buffer, at: number, end: number, parts: TimeParts) => number;

/** One element of a pattern. Literal text tells no part. */
interface Element {
  readonly part?: Part;
  readonly step: Step;
  /** How it begins and ends, for the rule about digits that follow directly. */
  readonly beginsWithDigit: boolean;
  /** The step to take where a digit follows directly; undefined where none may follow. */
  readonly beforeDigit: Step | undefined;
}

/** What elements leave for the end: it takes more than one of them to know. */
const pending = { half: -1, weekday: -1 };

const composites: Readonly<Record<string, string>> = { F: "%Y-%m-%d", T: "%H:%M:%S", R: "%H:%M", D: "%m/%d/%y" };

const dateParts: readonly Part[] = ["year", "month", "day", "weekday"];
const timeParts: readonly Part[] = ["hour", "half", "minute", "second"];
const partsOf: Readonly<Record<FormattedType, readonly Part[]>> = {
  DATE: dateParts,
  TIME: timeParts,
  DATETIME: [...dateParts, ...timeParts],
  TIMESTAMP: [...dateParts, ...timeParts, "zone", "epoch"],
};

/**
 * Compiles a pattern into a reader of whole texts.
 *
 * @throws SetupError that names everything that is wrong with the pattern
 */
export function compileTimeFormat(format: string, type: FormattedType): TimeReader {
  const faults: string[] = [];
  const elements = parseElements(format, faults);
  checkParts(elements, type, faults);
  const steps = elements.map((element, index) => {
    if (elements[index + 1]?.beginsWithDigit !== true) return element.step;
    if (element.beforeDigit === undefined) faults.push("an element of any length stands directly before a digit");
    return element.beforeDigit ?? element.step;
  });
  if (faults.length > 0) throw new SetupError(`The format "${format}" cannot read ${type}: ${faults.join("; ")}`);
  const twelveHours = elements.some((element) => element.part === "half");
  const epoch = elements.some((element) => element.part === "epoch");
  const lastSecond = type === "TIMESTAMP" ? 60 : 59;
  return (bytes, start, end, parts) => {
    parts.clear();
    pending.half = -1;
    pending.weekday = -1;
    let at = start;
    for (const step of steps) {
      at = step(bytes, at, end, parts);
      if (at < 0) return false;
    }
    if (at !== end || parts.second > lastSecond || !(epoch || parts.isDate)) return false;
    if (twelveHours && !setHalf(parts)) return false;
    return pending.weekday < 0 || pending.weekday === weekdayOf(parts.days);
  };
}

function parseElements(format: string, faults: string[]): readonly Element[] {
  const expanded = format.replaceAll(/%(.)/gsu, (text, letter: string) => composites[letter] ?? text);
  const elements: Element[] = [];
  for (const [text] of expanded.matchAll(/%E\*S|%E[1-9]S|%Ez|%.|%|[^%]+/gsu)) {
    const element = text.startsWith("%") ? elementOf(text) : literal(text);
    if (element === undefined) faults.push(`"${text}" is no element`);
    else elements.push(element);
  }
  return elements;
}

function checkParts(elements: readonly Element[], type: FormattedType, faults: string[]): void {
  const found = elements.flatMap(({ part }) => part ?? []);
  const has = (part: Part): boolean => found.includes(part);
  for (const part of new Set(found)) {
    if (!partsOf[type].includes(part)) faults.push(`${type} has no ${partNames[part]}`);
    if (found.indexOf(part) !== found.lastIndexOf(part)) faults.push(`it reads the ${partNames[part]} twice`);
  }
  if (has("epoch")) {
    if (found.length > 1) faults.push("%s cannot stand with other elements");
    return;
  }
  const needed = type === "TIME" ? (["hour"] as const) : (["year", "month", "day"] as const);
  for (const part of needed) if (!has(part)) faults.push(`it lacks the ${partNames[part]}`);
  if (has("minute") && !has("hour")) faults.push("it reads minutes without hours");
  if (has("second") && !has("minute")) faults.push("it reads seconds without minutes");
  if (elements.includes(hour12) !== has("half")) faults.push("%I and %p belong together");
}

const partNames: Readonly<Record<Part, string>> = {
  year: "year",
  month: "month",
  day: "day",
  weekday: "weekday",
  hour: "hour",
  half: "half of the day",
  minute: "minute",
  second: "second",
  zone: "zone",
  epoch: "seconds since the epoch",
};

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
  return { part, step: step(1), beginsWithDigit: true, beforeDigit: step(2) };
}

/** An element that reads text of its own kind: nothing changes where a digit follows. */
function worded(part: Part, step: Step): Element {
  return { part, step, beginsWithDigit: false, beforeDigit: step };
}

const months = "January February March April May June July August September October November December".split(" ");
const weekdays = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** An element that reads one of some names, whole or its first three letters, in any case. */
function named(part: Part, names: readonly string[], set: (parts: TimeParts, index: number) => void): Element {
  const known = names.flatMap((name, index) => [
    { text: name.toLowerCase(), index },
    { text: name.slice(0, 3).toLowerCase(), index },
  ]);
  return worded(part, (bytes, at, end, parts) => {
    const text = bytes.toString("latin1", at, Math.min(at + 9, end)).toLowerCase();
    const name = known.find((candidate) => text.startsWith(candidate.text));
    if (name === undefined) return -1;
    set(parts, name.index);
    return at + name.text.length;
  });
}

function literal(text: string): Element {
  const characters = Buffer.from(text);
  const step: Step = (bytes, at, end) => {
    const after = at + characters.length;
    return after <= end && characters.compare(bytes, at, after) === 0 ? after : -1;
  };
  return { step, beginsWithDigit: isDigit(characters[0]!), beforeDigit: step };
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
  const step: Step = (bytes, at, end, parts) => {
    const point = second.step(bytes, at, end, parts);
    if (point < 0 || point >= end || bytes[point] !== 0x2e || parts.second === 60) return point;
    const after = scanFraction(bytes, point + 1, end, parts);
    return after - point - 1 > maxDigits ? -1 : after;
  };
  return { part: "second", step, beginsWithDigit: true, beforeDigit: undefined };
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

const hour12 = numeric("hour", 1, 12, (parts, value) => {
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
    const zulu = colon && at < end && (bytes[at]! | 0x20) === 0x7a;
    if (zulu) return at + 1;
    const match = /^([+-])(\d\d):?(\d\d)$/.exec(bytes.toString("latin1", at, Math.min(at + (colon ? 6 : 5), end)));
    if (match === null || match[0].includes(":") !== colon) return -1;
    return setOffset(match[1] === "-", Number(match[2]), Number(match[3]), parts) ? at + match[0].length : -1;
  };
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
  "%Y": { part: "year", step: year4, beginsWithDigit: true, beforeDigit: year4 },
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
  "%e": { part: "day", step: blankDay, beginsWithDigit: true, beforeDigit: undefined },
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
  "%Z": { part: "zone", step: zoneName, beginsWithDigit: false, beforeDigit: undefined },
  "%s": { part: "epoch", step: epochSeconds, beginsWithDigit: true, beforeDigit: undefined },
  "%%": literal("%"),
};

/** Other spellings of the same elements. */
const synonyms: Readonly<Record<string, string>> = { "%B": "%b", "%h": "%b", "%A": "%a" };

function elementOf(text: string): Element | undefined {
  const digits = /^%E([1-9])S$/.exec(text)?.[1];
  if (digits !== undefined) return fractionalSecond(Number(digits));
  return elementTable[synonyms[text] ?? text];
}

/** Turns an hour of 1–12 into one of 0–23. */
function setHalf(parts: TimeParts): boolean {
  parts.hour = (parts.hour % 12) + pending.half;
  return pending.half >= 0;
}

/** 0 is Sunday; 1970-01-01 was a Thursday. */
function weekdayOf(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}
