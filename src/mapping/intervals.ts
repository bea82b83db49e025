/** INTERVAL: canonical text or an ISO 8601 duration, always sent in canonical form. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import type { ConversionOptions } from "./conversion-options.ts";

/** `[±]Y-M [±]D [±]H:M:S[.F]`. */
const canonical = /^([+-]?)(\d+)-(\d+) ([+-]?\d+) ([+-]?)(\d+):(\d+):(\d+)(?:\.(\d+))?$/;

/** At least one part, each part signed by itself, in the order of the standard; only seconds have a fraction. */
const duration =
  /^P(?=.)(?:([+-]?\d+)Y)?(?:([+-]?\d+)M)?(?:([+-]?\d+)W)?(?:([+-]?\d+)D)?(?:T(?=.)(?:([+-]?\d+)H)?(?:([+-]?\d+)M)?(?:([+-]?)(\d+)(?:\.(\d+))?S)?)?$/;

/** Range of INTERVAL: ±10000 years, ±3660000 days, ±87840000 hours. */
const maxMonths = 120_000;
const maxDays = 3_660_000;
const maxSeconds = 87_840_000 * 3600;

/** A part beyond this is out of range whatever it is added to, and sums of smaller ones are exact. */
const maxPart = 1e11;

/** An interval's three parts, none of which can be told in units of another. */
interface Interval {
  readonly months: number;
  readonly days: number;
  /** Whole seconds, rounded toward zero. */
  readonly seconds: number;
  /** Of the same sign as the seconds. */
  readonly micros: number;
  /** Digits of a second that were left out. */
  readonly finer: boolean;
}

const notInterval: Fault = {
  code: "TYPE_MISMATCH",
  message:
    "INTERVAL takes text like 1-2 3 10:20:30.5, or an ISO 8601 duration like P1Y2M3DT10H20M30.5S; got other text",
};
const beyondInterval: Fault = {
  code: "OUT_OF_RANGE",
  message: "INTERVAL holds up to 10000 years, 3660000 days and 87840000 hours either way; got more",
};
const tooPrecise: Fault = {
  code: "PRECISION_LOSS",
  message: "INTERVAL keeps 6 fraction digits of a second; got more",
};

/** JSON text → INTERVAL. */
export function intervalFromText(options: ConversionOptions): Convert {
  const rounds = options.onPrecisionLoss === "round";
  return (bytes, start, end, out) => {
    const text = bytes.toString("latin1", start, end);
    const interval = readCanonical(text) ?? readDuration(text);
    if (interval === undefined) return notInterval;
    if (interval.finer && !rounds) return tooPrecise;
    if (!isInRange(interval)) return beyondInterval;
    out.text(canonicalText(interval));
    return undefined;
  };
}

function readCanonical(text: string): Interval | undefined {
  const [matched, sign, years, months, days, timeSign, hours, minutes, seconds, fraction] = canonical.exec(text) ?? [];
  if (matched === undefined) return undefined;
  if (Number(months) > 11 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  const wholeSeconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  return interval(
    signed(sign, Number(years) * 12 + Number(months)),
    Number(days),
    signed(timeSign, wholeSeconds),
    timeSign,
    fraction,
  );
}

function readDuration(text: string): Interval | undefined {
  const [matched, years, months, weeks, days, hours, minutes, sign, seconds, fraction] = duration.exec(text) ?? [];
  if (matched === undefined) return undefined;
  const numbers = [years, months, weeks, days, hours, minutes, seconds].map((part) => Number(part ?? 0));
  if (numbers.some((part) => Math.abs(part) > maxPart)) return beyondEverything;
  const [y, mo, w, d, h, mi, s] = numbers as [number, number, number, number, number, number, number];
  return interval(y * 12 + mo, w * 7 + d, h * 3600 + mi * 60 + signed(sign, s), sign, fraction);
}

const beyondEverything: Interval = { months: 0, days: Number.POSITIVE_INFINITY, seconds: 0, micros: 0, finer: false };

/** Puts a fraction of a second to the whole seconds, so that both have the same sign. */
function interval(
  months: number,
  days: number,
  seconds: number,
  sign: string | undefined,
  fraction: string | undefined,
): Interval {
  const digits = fraction ?? "";
  const finer = /[1-9]/.test(digits.slice(6));
  let micros = signed(sign, Number(digits.slice(0, 6).padEnd(6, "0")));
  if (seconds > 0 && micros < 0) {
    seconds--;
    micros += 1_000_000;
  } else if (seconds < 0 && micros > 0) {
    seconds++;
    micros -= 1_000_000;
  }
  return { months, days, seconds, micros, finer };
}

function isInRange({ months, days, seconds, micros }: Interval): boolean {
  if (Math.abs(months) > maxMonths || Math.abs(days) > maxDays) return false;
  const size = Math.abs(seconds);
  return size < maxSeconds || (size === maxSeconds && micros === 0);
}

function canonicalText({ months, days, seconds, micros }: Interval): string {
  const [m, s, fraction] = [Math.abs(months), Math.abs(seconds), Math.abs(micros)];
  const digits = fraction === 0 ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`;
  const time = `${Math.floor(s / 3600)}:${Math.floor(s / 60) % 60}:${s % 60}${digits}`;
  const timeSign = seconds < 0 || micros < 0 ? "-" : "";
  return `${months < 0 ? "-" : ""}${Math.floor(m / 12)}-${m % 12} ${days === 0 ? 0 : days} ${timeSign}${time}`;
}

function signed(sign: string | undefined, value: number): number {
  return sign === "-" ? -value : value;
}
