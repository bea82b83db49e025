/** DATE, TIME, DATETIME and TIMESTAMP: the packed forms of the wire, BigQuery's literals, and the texts of its answers. */
import { InvalidValue } from "./cell.ts";

export const firstDay = -719_162;
export const lastDay = 2_932_896;
export const microsPerDay = 86_400_000_000;
export const firstMicro = BigInt(firstDay) * BigInt(microsPerDay);
export const lastMicro = BigInt(lastDay + 1) * BigInt(microsPerDay) - 1n;

/** @throws InvalidValue unless the day lies in the years 1 to 9999 */
export function checkedDay(days: number): number {
  if (days < firstDay || days > lastDay) throw new InvalidValue("DATE is out of range");
  return days;
}

/** @throws InvalidValue with the value in its words, as the service does */
export function checkedTimestamp(micros: bigint): bigint {
  if (micros < firstMicro || micros > lastMicro) {
    throw new InvalidValue(`Timestamp value is out of range in microseconds: ${micros}`);
  }
  return micros;
}

/** Days since 1970-01-01 of a day that exists. @throws InvalidValue */
function dayOf(year: number, month: number, day: number): number {
  if (year < 1 || year > 9999) throw new InvalidValue("Year is out of range");
  // Date.UTC would read years below 100 as 19xx.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw new InvalidValue("Day does not exist");
  return date.getTime() / 86_400_000;
}

/** Microseconds since midnight. @throws InvalidValue */
function timeOf(hour: number, minute: number, second: number, micros: number): number {
  if (hour > 23 || minute > 59 || second > 59 || micros > 999_999) throw new InvalidValue("Time of day does not exist");
  return ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros;
}

/** TIME from its packed form: hour, minute, second and microsecond in 5, 6, 6 and 20 bits. @throws InvalidValue */
export function unpackTime(packed: bigint): number {
  if (packed < 0n || packed >> 37n !== 0n) throw new InvalidValue("Packed TIME has bits where none may be");
  return timeOf(bits(packed, 32n, 5n), bits(packed, 26n, 6n), bits(packed, 20n, 6n), bits(packed, 0n, 20n));
}

/** DATETIME from its packed form: year, month and day in 14, 4 and 5 bits above the packed time. @throws InvalidValue */
export function unpackDatetime(packed: bigint): bigint {
  if (packed < 0n || packed >> 60n !== 0n) throw new InvalidValue("Packed DATETIME has bits where none may be");
  const day = dayOf(bits(packed, 46n, 14n), bits(packed, 42n, 4n), bits(packed, 37n, 5n));
  return microsOf(day, unpackTime(BigInt.asUintN(37, packed)));
}

function bits(value: bigint, from: bigint, count: bigint): number {
  return Number((value >> from) & ((1n << count) - 1n));
}

function microsOf(day: number, timeOfDay: number): bigint {
  return BigInt(day) * BigInt(microsPerDay) + BigInt(timeOfDay);
}

const dateForm = /^(\d{4})-(\d{1,2})-(\d{1,2})$/;
const timeForm = /^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?$/;

/** @throws InvalidValue */
export function parseDate(text: string): number {
  const [, year, month, day] = match(dateForm, text, "DATE");
  return dayOf(Number(year), Number(month), Number(day));
}

/** @throws InvalidValue */
export function parseTime(text: string): number {
  const [, hour, minute, second, fraction = ""] = match(timeForm, text, "TIME");
  return timeOf(Number(hour), Number(minute), Number(second), Number(fraction.padEnd(6, "0")));
}

/** @throws InvalidValue */
export function parseDatetime(text: string): bigint {
  const [date = "", time] = split(text);
  return microsOf(parseDate(date), time === undefined ? 0 : parseTime(time));
}

const zoneForm = /(?:([Zz])|([+-])(\d{1,2})(?::?(\d{2}))?| (?:UTC|Etc\/UTC))$/;
const preciseTimeForm = /^(\d{1,2}:\d{1,2}:\d{1,2})(?:\.(\d{1,12})0*)?$/;

/**
 * A TIMESTAMP literal in picoseconds since the epoch. Zones are offsets, `Z` or UTC; none means UTC.
 *
 * @throws InvalidValue
 */
export function parseTimestampPicos(text: string): bigint {
  const [date = "", rest] = split(text);
  const { time, offsetMinutes } = splitZone(rest ?? "00:00:00");
  const [, whole = "", fraction = ""] = match(preciseTimeForm, time, "TIMESTAMP");
  const micros = checkedTimestamp(microsOf(parseDate(date), parseTime(whole)) - BigInt(offsetMinutes) * 60_000_000n);
  return micros * 1_000_000n + BigInt(fraction.padEnd(12, "0"));
}

/** A TIMESTAMP literal with at most six fraction digits, in microseconds. @throws InvalidValue */
export function parseTimestamp(text: string): bigint {
  const picos = parseTimestampPicos(text);
  if (picos % 1_000_000n !== 0n) throw new InvalidValue("TIMESTAMP has more than six fraction digits");
  return picos / 1_000_000n;
}

function splitZone(text: string): { time: string; offsetMinutes: number } {
  const zone = zoneForm.exec(text);
  if (!zone) return { time: text, offsetMinutes: 0 };
  const [all, , sign = "+", hours = "0", minutes = "0"] = zone;
  const offset = Number(hours) * 60 + Number(minutes);
  if (offset > 14 * 60 || Number(minutes) > 59) throw new InvalidValue("Zone offset is out of range");
  return { time: text.slice(0, -all.length), offsetMinutes: sign === "-" ? -offset : offset };
}

/** Date and time stand apart by a space, `T` or `t`. */
function split(text: string): [string?, string?] {
  const at = text.search(/[ Tt]/);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function match(form: RegExp, text: string, type: string): RegExpExecArray {
  const found = form.exec(text);
  if (!found) throw new InvalidValue(`Text is no ${type} value`);
  return found;
}

/** `YYYY-MM-DD`. */
export function textOfDate(days: number): string {
  const date = new Date(days * 86_400_000);
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  return `${year}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
}

/** `HH:MM:SS.ffffff`. */
export function textOfTime(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000);
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${clock}.${String(micros % 1_000_000).padStart(6, "0")}`;
}

/** `YYYY-MM-DDTHH:MM:SS.ffffff`. */
export function textOfDatetime(micros: bigint): string {
  const day = floorDivide(micros, BigInt(microsPerDay));
  return `${textOfDate(Number(day))}T${textOfTime(Number(micros - day * BigInt(microsPerDay)))}`;
}

/** `YYYY-MM-DDTHH:MM:SS.ffffffZ`. */
export function textOfTimestamp(micros: bigint): string {
  return `${textOfDatetime(micros)}Z`;
}

/** `YYYY-MM-DDTHH:MM:SS.ffffffffffffZ`. */
export function textOfTimestampPicos(picos: bigint): string {
  const micros = floorDivide(picos, 1_000_000n);
  return `${textOfDatetime(micros)}${String(picos - micros * 1_000_000n).padStart(6, "0")}Z`;
}

function floorDivide(value: bigint, unit: bigint): bigint {
  const quotient = value / unit;
  return value % unit < 0n ? quotient - 1n : quotient;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
