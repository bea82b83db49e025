/** Calendar arithmetic in the proleptic Gregorian calendar, years 1 to 9999, and the packed forms of civil time. */
import type { WireWriter } from "../write/wire-writer.ts";

/** Days since 1970-01-01 of 0001-01-01 and 9999-12-31. */
export const minDays = -719_162;
export const maxDays = 2_932_896;

/** Seconds since the epoch of 0001-01-01T00:00:00 and 9999-12-31T23:59:59. */
export const minSeconds = minDays * 86_400;
export const maxSeconds = maxDays * 86_400 + 86_399;

/** Days before 1970-01-01 of 0000-03-01, where the count of whole 400-year cycles begins. */
const cycleOffset = 719_468;
const daysPerCycle = 146_097;

/** One date and time of day as it is written, with its zone. Reused: it holds what was read last. */
export class TimeParts {
  year = 1970;
  month = 1;
  day = 1;
  hour = 0;
  minute = 0;
  second = 0;
  /** First six fraction digits of the second. */
  microsecond = 0;
  /** The six fraction digits behind these. */
  picosecond = 0;
  /** How many fraction digits are written; behind the sixth, zeros at the end are not counted. */
  fractionDigits = 0;
  /** Where in the text the fraction digits stand. */
  fractionStart = 0;
  fractionEnd = 0;
  /** Seconds east of UTC. */
  offset = 0;
  /** Name of the zone in the tz database, when it is given by name. */
  zone: string | undefined = undefined;

  /** Makes it midnight, 1970-01-01 UTC. */
  clear(): void {
    this.year = 1970;
    this.month = 1;
    this.day = 1;
    this.clearTime();
  }

  /** Makes it midnight UTC of the same day. */
  clearTime(): void {
    this.hour = 0;
    this.minute = 0;
    this.second = 0;
    this.microsecond = 0;
    this.picosecond = 0;
    this.fractionDigits = 0;
    this.offset = 0;
    this.zone = undefined;
  }

  /** Whether year, month and day are a day of the calendar. */
  get isDate(): boolean {
    return this.year >= 1 && isDayOf(this.year, this.month, this.day);
  }

  /** Days since 1970-01-01. */
  get days(): number {
    return daysOf(this.year, this.month, this.day);
  }

  /** Seconds since 1970-01-01T00:00:00, as if the zone were UTC. */
  get localSeconds(): number {
    return this.days * 86_400 + this.hour * 3600 + this.minute * 60 + this.second;
  }

  /** Sets the date, by days since 1970-01-01. */
  setDays(days: number): void {
    const shifted = days + cycleOffset;
    const cycle = Math.floor(shifted / daysPerCycle);
    const dayOfCycle = shifted - cycle * daysPerCycle;
    const yearOfCycle = Math.floor(
      (dayOfCycle -
        Math.floor(dayOfCycle / 1460) +
        Math.floor(dayOfCycle / 36_524) -
        Math.floor(dayOfCycle / 146_096)) /
        365,
    );
    const dayOfYear = dayOfCycle - daysBeforeYear(yearOfCycle);
    const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
    this.day = dayOfYear - daysBeforeMonth(monthFromMarch) + 1;
    this.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
    this.year = yearOfCycle + cycle * 400 + (this.month <= 2 ? 1 : 0);
  }

  /** Sets date and time of day, UTC, by seconds since the epoch; the fraction is left as it is. */
  setSeconds(seconds: number): void {
    const days = Math.floor(seconds / 86_400);
    const secondOfDay = seconds - days * 86_400;
    this.setDays(days);
    this.hour = Math.floor(secondOfDay / 3600);
    this.minute = Math.floor(secondOfDay / 60) % 60;
    this.second = secondOfDay % 60;
  }
}

/** Days since 1970-01-01. Years are counted from March, so that the leap day comes last. */
export function daysOf(year: number, month: number, day: number): number {
  const marchYear = month <= 2 ? year - 1 : year;
  const cycle = Math.floor(marchYear / 400);
  const dayOfYear = daysBeforeMonth(month <= 2 ? month + 9 : month - 3) + day - 1;
  return cycle * daysPerCycle + daysBeforeYear(marchYear - cycle * 400) + dayOfYear - cycleOffset;
}

/** Days of a 400-year cycle before one of its years. */
function daysBeforeYear(yearOfCycle: number): number {
  return yearOfCycle * 365 + (yearOfCycle >> 2) - ((yearOfCycle / 100) | 0);
}

/** Days of a year that begins in March before one of its months. */
function daysBeforeMonth(monthFromMarch: number): number {
  return ((153 * monthFromMarch + 2) / 5) | 0;
}

function isDayOf(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  if (day <= 28) return true;
  if (month === 2) return day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const shortMonth = month === 4 || month === 6 || month === 9 || month === 11;
  return day <= (shortMonth ? 30 : 31);
}

/*
 * The packed forms (facts/bigquery-write.md §1.2). From the lowest bit: microsecond 20 bits, second 6, minute 6,
 * together the lower half; then hour 5, day 5, month 4, year 14.
 */

/** Writes a time of day in packed form. */
export function writePackedTime(parts: TimeParts, out: WireWriter): void {
  out.varint64(packedLow(parts), parts.hour);
}

/** Writes date and time of day in packed form. */
export function writePackedDatetime(parts: TimeParts, out: WireWriter): void {
  out.varint64(packedLow(parts), (parts.year << 14) | (parts.month << 10) | (parts.day << 5) | parts.hour);
}

function packedLow(parts: TimeParts): number {
  return ((parts.minute << 26) | (parts.second << 20) | parts.microsecond) >>> 0;
}

/** Whether the halves of a number are the packed form of a time of day. */
export function isPackedTime(low: number, high: number): boolean {
  return high <= 23 && low >>> 26 <= 59 && ((low >>> 20) & 63) <= 59 && (low & 0xf_ffff) <= 999_999;
}

/** Whether the halves of a number are the packed form of a date and time of day. */
export function isPackedDatetime(low: number, high: number): boolean {
  const year = high >>> 14;
  if (year < 1 || year > 9999) return false;
  return isDayOf(year, (high >>> 10) & 15, (high >>> 5) & 31) && isPackedTime(low, high & 31);
}
