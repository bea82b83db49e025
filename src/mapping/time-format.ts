/**
 * The option `format`: a pattern for dates and times that are not written in BigQuery's literal grammar. Its elements
 * are those of BigQuery's own PARSE_DATE, PARSE_TIME, PARSE_DATETIME and PARSE_TIMESTAMP (`formatElements`).
 *
 * Anything else stands for itself. Numbers of two digits may be written with one, unless a digit stands
 * directly in front or behind.
 * The pattern must read the whole text. Parts of the time that it lacks are zero, a zone that it lacks is UTC.
 */
import { SetupError } from "../errors.ts";
import type { TimeParts } from "./civil-time.ts";
import { elementOf, hour12, literal, pending } from "./time-elements.ts";
import type { Element, Part } from "./time-elements.ts";
import type { TimeReader } from "./time-literals.ts";

/** Elements of a pattern, and what they read. */
export const formatElements: readonly (readonly [elements: string, reads: string])[] = [
  ["%Y %y", "year of four digits; of two: 69–99 are 1969–1999, 00–68 are 2000–2068"],
  ["%m %b %B %h", "month as a number; by its English name, short or whole, in any case"],
  ["%d %e", "day of the month; %e may have a blank in front of a single digit"],
  ["%a %A", "English name of the weekday, short or whole; it must be the weekday of the date"],
  ["%H %I %p", "hour 0–23; hour 1–12, together with AM or PM"],
  ["%M", "minute"],
  ["%S %E*S %E3S", "second; with a fraction of any length; of at most so many digits (1–9)"],
  ["%z %Ez %Z", "offset +HHMM; +HH:MM or Z; UTC, GMT or a name of the tz database"],
  ["%s", "seconds since the epoch, alone"],
  ["%F %T %R %D", "%Y-%m-%d, %H:%M:%S, %H:%M, %m/%d/%y"],
  ["%%", "a percent sign"],
];

/** Column types that a format can read. */
export type FormattedType = "DATE" | "TIME" | "DATETIME" | "TIMESTAMP";

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
    const digitFollows = elements[index + 1]?.beginsWithDigit === true;
    if (digitFollows && element.open) faults.push("an element of any length stands directly before a digit");
    return digitFollows || elements[index - 1]?.endsWithDigit === true ? element.fixed : element.step;
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

/** Turns an hour of 1–12 into one of 0–23. */
function setHalf(parts: TimeParts): boolean {
  parts.hour = (parts.hour % 12) + pending.half;
  return pending.half >= 0;
}

/** 0 is Sunday; 1970-01-01 was a Thursday. */
function weekdayOf(days: number): number {
  return (((days + 4) % 7) + 7) % 7;
}
