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
  let at = scanNumber(bytes, start + 5, end);
  if (at < 0 || at >= end || bytes[at] !== 0x2d) return -1;
  parts.year = year;
  parts.month = number;
  at = scanNumber(bytes, at + 1, end);
  if (at < 0) return -1;
  parts.day = number;
  return parts.isDate ? at : -1;
}

function scanTime(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  let at = scanNumber(bytes, start, end);
  if (at < 0 || at >= end || bytes[at] !== 0x3a || number > 23) return -1;
  parts.hour = number;
  at = scanNumber(bytes, at + 1, end);
  if (at < 0 || at >= end || bytes[at] !== 0x3a || number > 59) return -1;
  parts.minute = number;
  at = scanNumber(bytes, at + 1, end);
  if (at < 0 || number > 60) return -1;
  parts.second = number;
  if (at >= end || bytes[at] !== 0x2e) return at;
  // A leap second has no fraction that any second of ours could take.
  return parts.second === 60 ? -1 : scanFraction(bytes, at + 1, end, parts);
}

/** Fraction digits of a second: at least one. */
export function scanFraction(bytes: Buffer, start: number, end: number, parts: TimeParts): number {
  let at = start;
  let microsecond = 0;
  let picosecond = 0;
  let fractionDigits = 0;
  for (; at < end && isDigit(bytes[at]!); at++) {
    const digit = bytes[at]! - 0x30;
    const index = at - start;
    if (index < 6) microsecond = microsecond * 10 + digit;
    else if (index < 12) picosecond = picosecond * 10 + digit;
    if (digit !== 0) fractionDigits = index + 1;
  }
  const digits = at - start;
  if (digits === 0) return -1;
  for (let i = digits; i < 6; i++) microsecond *= 10;
  for (let i = Math.max(digits, 6); i < 12; i++) picosecond *= 10;
  parts.fractionStart = start;
  parts.fractionEnd = at;
  parts.microsecond = microsecond;
  parts.picosecond = picosecond;
  parts.fractionDigits = fractionDigits;
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
  let at = scanNumber(bytes, start + 1, end);
  if (at < 0) return -1;
  const hours = number;
  let minutes = 0;
  if (at < end) {
    if (bytes[at] !== 0x3a) return -1;
    at = scanNumber(bytes, at + 1, end);
    if (at < 0) return -1;
    minutes = number;
  }
  return setOffset(bytes[start] === 0x2d, hours, minutes, parts) ? at : -1;
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

/** What `scanNumber` read. */
let number = 0;

/** One or two digits. */
function scanNumber(bytes: Buffer, start: number, end: number): number {
  if (start >= end || !isDigit(bytes[start]!)) return -1;
  number = bytes[start]! - 0x30;
  if (start + 1 >= end || !isDigit(bytes[start + 1]!)) return start + 1;
  number = number * 10 + bytes[start + 1]! - 0x30;
  return start + 2;
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

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}
