/**
 * Short cuts for dates and times as machines write them: `2024-02-29`, `2024-02-29T23:59:59Z`, with three or six fraction digits or none.
 * The text is held against its form in words of four bytes, all digits of a word at once.
 */
import { daysOf } from "../mapping/civil-time.ts";
import * as ascii from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { putInt64, putVarint64, type WireWriter } from "../write/wire-writer.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { point, quote } = ascii;
const zoneZ = 0x5a;

/**
 * Four characters: digits (`0` stands for any), fixed characters, and what does not matter (`?`). In a word that `template` was taken out of by
 * exclusive or, digits have their values and fixed characters are 0; adding `carry` lifts a value above 9 into the bits of `forbidden`.
 */
interface WordForm {
  readonly template: number;
  readonly carry: number;
  readonly forbidden: number;
}

function formOf(characters: string): WordForm {
  const form = { template: 0, carry: 0, forbidden: 0 };
  for (let i = 0; i < characters.length; i++) {
    const character = characters.charAt(i);
    if (character === "?") continue;
    form.template |= character.charCodeAt(0) << (i * 8);
    form.carry |= (character === "0" ? 6 : 0) << (i * 8);
    form.forbidden |= (character === "0" ? 0xf0 : 0xff) << (i * 8);
  }
  return form;
}

const fourDigits = formOf("0000");
const dashMonthDash = formOf("-00-");
const dayQuote = formOf('00"?');
const dayHour = formOf("00T0");
const hourMinute = formOf("0:00");
const colonSecond = formOf(":00?");
const millisZone = formOf("000Z");
const millisQuote = formOf('000"');
const microsZone = formOf('00Z"');
const microsQuote = formOf('00"?');

/** What does not fit the form in a word without its template; 0 when all does. */
function misfit(word: number, form: WordForm): number {
  return ((word + form.carry) | word) & form.forbidden;
}

/** The value of the decimal digit in a byte of a word without its template. */
function digit(word: number, byte: number): number {
  return (word >> (byte * 8)) & 15;
}

/** What was read last. */
let year = 0;
let month = 0;
let day = 0;
let hour = 0;
let minute = 0;
let second = 0;
let micros = 0;

/** Reads `YYYY-MM-` at `at`. Returns what does not fit. */
function readMonth(view: DataView, at: number): number {
  const first = view.getInt32(at, true) ^ fourDigits.template;
  const then = view.getInt32(at + 4, true) ^ dashMonthDash.template;
  year = digit(first, 0) * 1000 + digit(first, 1) * 100 + digit(first, 2) * 10 + digit(first, 3);
  month = digit(then, 1) * 10 + digit(then, 2);
  return misfit(first, fourDigits) | misfit(then, dashMonthDash);
}

/** Reads `YYYY-MM-DDTHH:MM:SS` at `at`. Returns what does not fit. */
function readSeconds(view: DataView, at: number): number {
  const bad = readMonth(view, at);
  const first = view.getInt32(at + 8, true) ^ dayHour.template;
  const then = view.getInt32(at + 12, true) ^ hourMinute.template;
  const last = view.getInt32(at + 16, true) ^ colonSecond.template;
  day = digit(first, 0) * 10 + digit(first, 1);
  hour = digit(first, 3) * 10 + digit(then, 0);
  minute = digit(then, 2) * 10 + digit(then, 3);
  second = digit(last, 1) * 10 + digit(last, 2);
  return bad | misfit(first, dayHour) | misfit(then, hourMinute) | misfit(last, colonSecond);
}

/**
 * Reads what follows the seconds up to the closing quote: nothing but `end`, or a point, three or six digits and `end`, which is a `Z`, or
 * the quote itself. Sets `micros`.
 *
 * @returns the offset of the closing quote; −1 when something else stands there
 */
function readFraction(reader: JsonReader, at: number, end: number, three: WordForm, six: WordForm): number {
  const { bytes, view } = reader;
  const behind = end === quote ? 0 : 1;
  micros = 0;
  if (bytes[at] === end) return bytes[at + behind] === quote ? at + behind : -1;
  if (bytes[at] !== point || at + 9 > reader.end) return -1;
  const first = view.getInt32(at + 1, true) ^ fourDigits.template;
  if (misfit(first, fourDigits) === 0) {
    const last = view.getInt32(at + 5, true) ^ six.template;
    const thousands = digit(first, 0) * 100 + digit(first, 1) * 10 + digit(first, 2);
    micros = thousands * 1000 + digit(first, 3) * 100 + digit(last, 0) * 10 + digit(last, 1);
    return misfit(last, six) === 0 ? at + 7 + behind : -1;
  }
  const only = view.getInt32(at + 1, true) ^ three.template;
  micros = (digit(only, 0) * 100 + digit(only, 1) * 10 + digit(only, 2)) * 1000;
  return misfit(only, three) === 0 && bytes[at + 4 + behind] === quote ? at + 4 + behind : -1;
}

const firstYear = 1700;
const lastYear = 2250;

/** Days from 1970-01-01 to the first of January, by year. Microseconds of these years are safe integers. */
const yearDays = Int32Array.from({ length: lastYear - firstYear + 1 }, (_, i) => daysOf(firstYear + i, 1, 1));

/** Days of the year before the first of each month, January being 1; the leap day not counted. */
const monthDays = Int32Array.of(0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334);

/** The date that was read is certain to exist. Days that not every month has are left to the long way, but for those that are clear. */
function isSureDate(): boolean {
  if (year < firstYear || year > lastYear || month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || (day <= 30 && month !== 2);
}

function isTimeOfDay(): boolean {
  return hour <= 23 && minute <= 59 && second <= 59;
}

/** Days since 1970-01-01. */
function days(): number {
  const isLeap = (year & 3) === 0 && (year % 100 !== 0 || year % 400 === 0);
  return yearDays[year - firstYear]! + monthDays[month]! + day - (isLeap && month > 2 ? 0 : 1);
}

const dateLength = "2024-02-29".length;
const secondsLength = "2024-02-29T23:59:59".length;

/** `"2024-02-29"` → DATE. */
export function copyDate(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const view = reader.view;
  if (start + dateLength + 3 > reader.end || reader.bytes[start] !== quote) return -1;
  const last = view.getInt32(start + 9, true) ^ dayQuote.template;
  const bad = readMonth(view, start + 1) | misfit(last, dayQuote);
  day = digit(last, 0) * 10 + digit(last, 1);
  if (bad !== 0 || !isSureDate()) return -1;
  const to = out.beginField(tag, 10);
  out.position = putInt64(out.bytes, to, days());
  return start + dateLength + 2;
}

/** `"2024-02-29T23:59:59.999999Z"` → TIMESTAMP. */
export function copyTimestamp(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const at = start + 1 + secondsLength;
  if (at + 2 > reader.end || reader.bytes[start] !== quote) return -1;
  if (readSeconds(reader.view, start + 1) !== 0 || !isSureDate() || !isTimeOfDay()) return -1;
  const close = readFraction(reader, at, zoneZ, millisZone, microsZone);
  if (close < 0) return -1;
  const seconds = days() * 86_400 + (hour * 60 + minute) * 60 + second;
  const to = out.beginField(tag, 10);
  out.position = putInt64(out.bytes, to, seconds * 1_000_000 + micros);
  return close + 1;
}

/** `"2024-02-29T23:59:59.999999"` → DATETIME, in packed form (facts/bigquery-write.md §1.2). */
export function copyDatetime(reader: JsonReader, start: number, tag: number, out: WireWriter): number {
  const at = start + 1 + secondsLength;
  if (at + 2 > reader.end || reader.bytes[start] !== quote) return -1;
  if (readSeconds(reader.view, start + 1) !== 0 || !isSureDate() || !isTimeOfDay()) return -1;
  const close = readFraction(reader, at, quote, millisQuote, microsQuote);
  if (close < 0) return -1;
  const low = ((minute << 26) | (second << 20) | micros) >>> 0;
  const high = (year << 14) | (month << 10) | (day << 5) | hour;
  const to = out.beginField(tag, 10);
  out.position = putVarint64(out.bytes, to, low, high);
  return close + 1;
}
