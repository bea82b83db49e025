/** BigQuery's literal grammar of dates and times (facts/bigquery-write.md §1.5): text into `TimeParts`. */
import type { TimeParts } from "./civil-time.ts";

/** Largest offset from UTC, in minutes. */
const maxOffsetMinutes = 14 * 60;

/** Reads a whole text into `parts`; false when it has not the form, or names a date or time of day that does not exist. */
export type TimeReader = (bytes: Buffer, start: number, end: number, parts: TimeParts) => boolean;

/** `YYYY-[M]M-[D]D`. */
export const readDate: TimeReader = (bytes, start, end, parts) => {
  parts.clearTime();
  return scanDate(bytes, start, end, parts) === end;
};

/** `[H]H:[M]M:[S]S[.F]`. */
export const readTime: TimeReader = (bytes, start, end, parts) => {
  parts.clear();
  return scanTime(bytes, start, end, parts) === end && parts.second <= 59;
};

/** A date, and a time behind `T`, `t` or a space; a date alone is midnight. */
export const readDatetime: TimeReader = (bytes, start, end, parts) => {
  parts.clearTime();
  return scanDatetime(bytes, start, end, parts) === end && parts.second <= 59;
};

/** Like a DATETIME, and a zone: `Z`, an offset, or a name of the tz database after one space; none is UTC. */
export const readTimestamp: TimeReader = (bytes, start, end, parts) => {
  parts.clearTime();
  const at = scanDatetime(bytes, start, end, parts);
  return at >= 0 && scanZone(bytes, at, end, parts) === end;
};

/*
 * The scanners take the offset where a part begins and return the offset behind it, or -1. They never read
 * what stands behind `end` as if it belonged to the text.
 */

function scanDatetime(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  const at = scanDate(bytes, start, end, parts);
  if (at < 0 || at + 1 >= end) return at;
  const separator = bytes[at]!;
  if ((separator | 0x20) === 0x74) return scanTime(bytes, at + 1, end, parts);
  // Behind a space may also come the name of a zone.
  return separator === 0x20 && isDigit(bytes[at + 1]!) ? scanTime(bytes, at + 1, end, parts) : at;
}

function scanDate(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  if (end - start < 8) return -1;
  const year = fourDigits(bytes, start);
  if (year < 0 || bytes[start + 4] !== 0x2d) return -1;
  let at = start + 5;
  const month = scanNumber(bytes, at, end);
  at += digitsOf(month);
  if (month < 0 || at >= end || bytes[at] !== 0x2d) return -1;
  const day = scanNumber(bytes, ++at, end);
  if (day < 0) return -1;
  parts.year = year;
  parts.month = valueOf(month);
  parts.day = valueOf(day);
  return parts.isDate ? at + digitsOf(day) : -1;
}

function scanTime(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  let at = start;
  const hour = scanNumber(bytes, at, end);
  at += digitsOf(hour);
  if (hour < 0 || at >= end || bytes[at] !== 0x3a) return -1;
  const minute = scanNumber(bytes, ++at, end);
  at += digitsOf(minute);
  if (minute < 0 || at >= end || bytes[at] !== 0x3a) return -1;
  const second = scanNumber(bytes, ++at, end);
  if (second < 0) return -1;
  at += digitsOf(second);
  parts.hour = valueOf(hour);
  parts.minute = valueOf(minute);
  parts.second = valueOf(second);
  if (parts.hour > 23 || parts.minute > 59 || parts.second > 60) return -1;
  if (at >= end || bytes[at] !== 0x2e) return at;
  // A leap second has no fraction that any second of ours could take.
  return parts.second === 60 ? -1 : scanFraction(bytes, at + 1, end, parts);
}

const powersOfTen = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000];

/** Fraction digits of a second: at least one. */
export function scanFraction(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  let at = start;
  let microsecond = 0;
  const microsEnd = Math.min(end, start + 6);
  for (; at < microsEnd && isDigit(bytes[at]!); at++) microsecond = microsecond * 10 + bytes[at]! - 0x30;
  const digits = at - start;
  if (digits === 0) return -1;
  parts.microsecond = microsecond * powersOfTen[6 - digits]!;
  parts.picosecond = 0;
  parts.fractionDigits = digits;
  if (digits === 6) at = scanPicoseconds(bytes, at, end, parts);
  parts.fractionStart = start;
  parts.fractionEnd = at;
  return at;
}

/** The fraction digits behind the sixth, if there are any. */
function scanPicoseconds(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  let at = start;
  let picosecond = 0;
  for (; at < end && isDigit(bytes[at]!); at++) {
    const digit = bytes[at]! - 0x30;
    const index = at - start;
    if (index < 6) picosecond = picosecond * 10 + digit;
    if (digit !== 0) parts.fractionDigits = index + 7;
  }
  parts.picosecond = picosecond * powersOfTen[6 - Math.min(at - start, 6)]!;
  return at;
}

function scanZone(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  if (start === end) return end;
  const sign = bytes[start]!;
  if ((sign | 0x20) === 0x7a) return start + 1;
  if (sign === 0x2b || sign === 0x2d) return scanOffset(bytes, start, end, parts);
  return sign === 0x20 ? scanZoneName(bytes, start + 1, end, parts) : -1;
}

/** `±H[H][:M[M]]`. */
function scanOffset(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  const hours = scanNumber(bytes, start + 1, end);
  if (hours < 0) return -1;
  let at = start + 1 + digitsOf(hours);
  let minutes = 0;
  if (at < end) {
    if (bytes[at] !== 0x3a) return -1;
    minutes = scanNumber(bytes, ++at, end);
    if (minutes < 0) return -1;
    at += digitsOf(minutes);
  }
  return setOffset(bytes[start] === 0x2d, valueOf(hours), valueOf(minutes), parts) ? at : -1;
}

/** Takes an offset from UTC; false when there is no such one. */
export function setOffset(negative: boolean, hours: number, minutes: number, parts: TimeParts): boolean {
  const total = hours * 60 + minutes;
  if (minutes > 59 || total > maxOffsetMinutes) return false;
  parts.offset = (negative ? -total : total) * 60;
  return true;
}

/** Everything up to the end is the name; whether there is such a zone is found out later. */
export function scanZoneName(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  if (start === end || end - start > 64) return -1;
  parts.zone = bytes.toString("latin1", start, end);
  return end;
}

/**
 * Reads one or two digits, and tells how many it were: a number of two digits comes with 100 added, so that the result
 * is one small integer. -1 when there is no digit. See `valueOf` and `digitsOf`.
 */
function scanNumber(bytes: Buffer, at: number, end: number): number {
  if (at >= end || !isDigit(bytes[at]!)) return -1;
  const first = bytes[at]! - 0x30;
  if (at + 1 >= end || !isDigit(bytes[at + 1]!)) return first;
  return 100 + first * 10 + bytes[at + 1]! - 0x30;
}

function valueOf(scanned: number): number {
  return scanned >= 100 ? scanned - 100 : scanned;
}

function digitsOf(scanned: number): number {
  return scanned >= 100 ? 2 : 1;
}

/** Four digits as a number; negative when they are no digits. */
export function fourDigits(bytes: Buffer, at: number): number {
  const a = bytes[at]! - 0x30;
  const b = bytes[at + 1]! - 0x30;
  const c = bytes[at + 2]! - 0x30;
  const d = bytes[at + 3]! - 0x30;
  const areDigits = a >= 0 && a <= 9 && b >= 0 && b <= 9 && c >= 0 && c <= 9 && d >= 0 && d <= 9;
  return areDigits ? a * 1000 + b * 100 + c * 10 + d : -1;
}

/** An ASCII digit. */
export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
