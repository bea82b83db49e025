/** Dates and times of the slow path: literals by regular expressions, days by `Date`, zones by `Intl`. */
import { Big } from "big.js";
import type { ColumnOptions } from "../../src/mapping/mapping-plan.ts";
import { integerOf, isWhole } from "./slow-numbers.ts";
import { Refused } from "./slow-refused.ts";

type PrecisionLoss = "reject" | "round";
type TimestampUnit = NonNullable<ColumnOptions["timestampUnit"]>;

interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

interface TimeOfDay {
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Digits behind the point as they are written; empty without a point. */
  readonly fraction: string;
}

const msPerDay = 86_400_000;
const microsPerSecond = 1_000_000n;
const timestampMin = -62_135_596_800_000_000n;
const timestampMax = 253_402_300_799_999_999n;

const date = String.raw`(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})`;
const time = String.raw`(?<hour>\d{1,2}):(?<minute>\d{1,2}):(?<second>\d{1,2})(?:\.(?<fraction>\d+))?`;
const zone = String.raw`(?<utc>[zZ])|(?<sign>[+-])(?<offsetHour>\d{1,2})(?::(?<offsetMinute>\d{1,2}))?| (?<zone>[A-Za-z][A-Za-z0-9_+/-]*)`;

const dateLiteral = new RegExp(`^${date}$`);
const timeLiteral = new RegExp(`^${time}$`);
const datetimeLiteral = new RegExp(`^${date}(?:[ Tt]${time})?$`);
const timestampLiteral = new RegExp(`^${date}(?:[ Tt]${time})?(?:${zone})?$`);

type Groups = Readonly<Record<string, string | undefined>>;

function match(literal: RegExp, text: string): Groups {
  const groups = literal.exec(text)?.groups;
  if (!groups) throw new Refused("TYPE_MISMATCH");
  return groups;
}

/** Days since 1970-01-01. */
export function dateOfText(text: string): number {
  return daysOf(civilDate(match(dateLiteral, text)));
}

/** Days since 1970-01-01, of a number of them. */
export function dateOfNumber(source: string): number {
  return Number(integerOf(source, -719_162n, 2_932_896n));
}

/** TIME packed as `CivilTimeEncoder` does. */
export function timeOfText(text: string, onPrecisionLoss: PrecisionLoss): bigint {
  return packTime(timeOfDay(match(timeLiteral, text), 59), onPrecisionLoss);
}

/** DATETIME packed as `CivilTimeEncoder` does. */
export function datetimeOfText(text: string, onPrecisionLoss: PrecisionLoss): bigint {
  const groups = match(datetimeLiteral, text);
  return (packDate(civilDate(groups)) << 37n) | packTime(timeOfDay(groups, 59), onPrecisionLoss);
}

/** A number for TIME is the packed form itself, if it unpacks to a time of day. */
export function timeOfNumber(source: string): bigint {
  const packed = integerOf(source, 0n, 2n ** 37n - 1n);
  checkPackedTime(packed);
  return packed;
}

/** A number for DATETIME is the packed form itself, if it unpacks to a day and a time of day. */
export function datetimeOfNumber(source: string): bigint {
  const packed = integerOf(source, 0n, 2n ** 63n - 1n);
  const day = packed >> 37n;
  const [year, month, dayOfMonth] = [Number(day >> 9n), Number((day >> 5n) & 15n), Number(day & 31n)];
  if (!isCivilDate({ year, month, day: dayOfMonth })) throw new Refused("OUT_OF_RANGE");
  checkPackedTime(packed & (2n ** 37n - 1n));
  return packed;
}

function checkPackedTime(packed: bigint): void {
  const [hour, minute, second] = [packed >> 32n, (packed >> 26n) & 63n, (packed >> 20n) & 63n];
  const micros = packed & (2n ** 20n - 1n);
  if (hour > 23n || minute > 59n || second > 59n || micros > 999_999n) throw new Refused("OUT_OF_RANGE");
}

/** Microseconds since 1970-01-01 UTC. */
export function timestampOfText(text: string, unit: TimestampUnit, onPrecisionLoss: PrecisionLoss): bigint {
  if (/^-?\d+$/.test(text)) return timestampOfNumber(text, unit, onPrecisionLoss);
  const { seconds, fraction } = instantOf(text);
  return inTimestampRange(seconds * microsPerSecond + BigInt(cutFraction(fraction, 6, onPrecisionLoss)));
}

/** Microseconds since 1970-01-01 UTC, of a number of `unit`. */
export function timestampOfNumber(source: string, unit: TimestampUnit, onPrecisionLoss: PrecisionLoss): bigint {
  return timestampOfDecimal(source, unit, 6, onPrecisionLoss);
}

/** TIMESTAMP(12) is text: up to nine digits in one form, ten to twelve as they come, with the zeros behind them. */
export function picosecondsOfText(text: string, unit: TimestampUnit, onPrecisionLoss: PrecisionLoss): string {
  if (/^-?\d+$/.test(text)) return picosecondsOfNumber(text, unit, onPrecisionLoss);
  const { seconds, fraction } = instantOf(text);
  inTimestampRange(seconds * microsPerSecond);
  const digits = fraction.replace(/0+$/, "");
  if (digits.length <= 9) return utcText(seconds, digits);
  if (digits.length <= 12) return text;
  if (onPrecisionLoss === "reject") throw new Refused("PRECISION_LOSS");
  const cut = digits.slice(0, 12).replace(/0+$/, "");
  return cut.length <= 9 ? utcText(seconds, cut) : text.replace(fraction, cut);
}

export function picosecondsOfNumber(source: string, unit: TimestampUnit, onPrecisionLoss: PrecisionLoss): string {
  const digits = unit === "nanos" ? 9 : 6;
  const value = timestampOfDecimal(source, unit, digits, onPrecisionLoss);
  const perSecond = 10n ** BigInt(digits);
  const seconds = floorDivide(value, perSecond);
  return utcText(seconds, String(value - seconds * perSecond).padStart(digits, "0"));
}

/** How many digits behind the point of a second each unit is. */
const unitDigits: Readonly<Record<TimestampUnit, number>> = { seconds: 0, millis: 3, micros: 6, nanos: 9 };

/** A number of `unit` as a whole number of seconds / 10^digits, within the range of TIMESTAMP. */
function timestampOfDecimal(
  source: string,
  unit: TimestampUnit,
  digits: number,
  onPrecisionLoss: PrecisionLoss,
): bigint {
  const value = new Big(source);
  if (!isWhole(value) && (unit === "micros" || unit === "nanos")) throw new Refused("TYPE_MISMATCH");
  const scaled = value.times(`1e${digits - unitDigits[unit]}`);
  if (!isWhole(scaled) && onPrecisionLoss === "reject") throw new Refused("PRECISION_LOSS");
  if (scaled.e > 40) throw new Refused("OUT_OF_RANGE");
  const whole = BigInt(scaled.round(0, Big.roundDown).toFixed(0));
  inTimestampRange(floorDivide(whole, 10n ** BigInt(digits - 6)));
  return whole;
}

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value < 0n && quotient * by !== value ? quotient - 1n : quotient;
}

function inTimestampRange(micros: bigint): bigint {
  if (micros < timestampMin || micros > timestampMax) throw new Refused("OUT_OF_RANGE");
  return micros;
}

/** `YYYY-MM-DDTHH:MM:SS.ffffff[fff]+00:00`. */
function utcText(seconds: bigint, fraction: string): string {
  const digits = fraction.replace(/0+$/, "");
  const second = new Date(Number(seconds) * 1000).toISOString().slice(0, 19);
  return `${second}.${digits.padEnd(digits.length > 6 ? 9 : 6, "0")}+00:00`;
}

/** The moment that a TIMESTAMP literal names, in whole seconds since 1970, and the digits of the fraction. */
function instantOf(text: string): { seconds: bigint; fraction: string } {
  const groups = match(timestampLiteral, text);
  const clock = timeOfDay(groups, 60);
  if (clock.second === 60 && clock.fraction !== "") throw new Refused("TYPE_MISMATCH");
  const local = daysOf(civilDate(groups)) * 86_400 + clock.hour * 3600 + clock.minute * 60 + clock.second;
  return { seconds: BigInt(local - offsetSeconds(groups, local)), fraction: clock.fraction };
}

/** How far local time is ahead of UTC. */
function offsetSeconds(groups: Groups, local: number): number {
  if (groups["zone"] !== undefined) return zoneOffset(groups["zone"], local);
  if (groups["sign"] === undefined) return 0;
  const [hours, minutes] = [Number(groups["offsetHour"]), Number(groups["offsetMinute"] ?? 0)];
  if (minutes > 59 || hours * 60 + minutes > 14 * 60) throw new Refused("TYPE_MISMATCH");
  return (groups["sign"] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** Offset of a tz-database zone at a local time; refused when the zone skips or repeats that time. */
function zoneOffset(name: string, local: number): number {
  const clock = zoneClock(name);
  const day = 86_400;
  const candidates = new Set([local - day, local, local + day].map((instant) => clock(instant)));
  const fitting = [...candidates].filter((offset) => clock(local - offset) === offset);
  if (fitting.length !== 1) throw new Refused("TYPE_MISMATCH");
  return fitting[0]!;
}

/** Three letters are no zone but an abbreviation, even where the tz database has one of that name. */
const abbreviation = /^(?!utc$|gmt$)[a-z]{3}$/i;

const zoneClocks = new Map<string, (instant: number) => number>();

/** Seconds since 1970 → how far the zone is ahead of UTC at that moment. */
function zoneClock(name: string): (instant: number) => number {
  if (abbreviation.test(name)) throw new Refused("TYPE_MISMATCH");
  let clock = zoneClocks.get(name);
  if (!clock) zoneClocks.set(name, (clock = openZone(name)));
  return clock;
}

function openZone(name: string): (instant: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-u-hc-h23", {
      timeZone: name,
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch {
    throw new Refused("TYPE_MISMATCH");
  }
  return (instant) => {
    const parts = Object.fromEntries(format.formatToParts(instant * 1000).map((part) => [part.type, part.value]));
    const year = parts["era"] === "BC" ? 1 - Number(parts["year"]) : Number(parts["year"]);
    const midnight = utcDays(year, Number(parts["month"]), Number(parts["day"])) * 86_400;
    const clock = Number(parts["hour"]) * 3600 + Number(parts["minute"]) * 60 + Number(parts["second"]);
    return midnight + clock - instant;
  };
}

function civilDate(groups: Groups): CivilDate {
  const civil = { year: Number(groups["year"]), month: Number(groups["month"]), day: Number(groups["day"]) };
  if (!isCivilDate(civil)) throw new Refused("TYPE_MISMATCH");
  return civil;
}

function isCivilDate({ year, month, day }: CivilDate): boolean {
  if (year < 1 || year > 9999) return false;
  const there = new Date(utcDays(year, month, day) * msPerDay);
  return there.getUTCFullYear() === year && there.getUTCMonth() === month - 1 && there.getUTCDate() === day;
}

/** Days since 1970-01-01. `Date.UTC` would read the years 0–99 as 1900–1999. */
function utcDays(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) / msPerDay;
}

function daysOf({ year, month, day }: CivilDate): number {
  return utcDays(year, month, day);
}

function timeOfDay(groups: Groups, lastSecond: 59 | 60): TimeOfDay {
  const [hour, minute, second] = [groups["hour"], groups["minute"], groups["second"]].map((part) => Number(part ?? 0));
  if (hour! > 23 || minute! > 59 || second! > lastSecond) throw new Refused("TYPE_MISMATCH");
  return { hour: hour!, minute: minute!, second: second!, fraction: groups["fraction"] ?? "" };
}

/** The first `digits` digits of a fraction, filled up with zeros; what lies behind them must be zeros or may be cut off. */
export function cutFraction(fraction: string, digits: number, onPrecisionLoss: PrecisionLoss): string {
  if (onPrecisionLoss === "reject" && /[1-9]/.test(fraction.slice(digits))) throw new Refused("PRECISION_LOSS");
  return fraction.slice(0, digits).padEnd(digits, "0");
}

function packDate({ year, month, day }: CivilDate): bigint {
  return (BigInt(year) << 9n) | (BigInt(month) << 5n) | BigInt(day);
}

function packTime(clock: TimeOfDay, onPrecisionLoss: PrecisionLoss): bigint {
  const micros = BigInt(cutFraction(clock.fraction, 6, onPrecisionLoss));
  return (BigInt(clock.hour) << 32n) | (BigInt(clock.minute) << 26n) | (BigInt(clock.second) << 20n) | micros;
}
