/** TIMESTAMP: microseconds since the epoch as int64, and TIMESTAMP(12) as text in UTC. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import type { Column } from "../schema/table-schema.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { TimeParts, maxSeconds, minSeconds } from "./civil-time.ts";
import type { ConversionOptions, TimestampUnit } from "./conversion-options.ts";
import { isDigits, maxInt64Digits, plainInteger, readWhole, wasWrittenWhole, whole } from "./integers.ts";
import { compileTimeFormat } from "./time-format.ts";
import { readTimestamp } from "./time-literals.ts";
import { instantIn } from "./time-zones.ts";
import { notFormatted, tooPrecise } from "./times.ts";

const parts = new TimeParts();

/** Seconds whose microseconds are a safe integer: all of the years 1684 to 2255. */
const maxSafeSeconds = 9_000_000_000;

/** Powers of ten that turn a number of the unit into microseconds. */
const microsPower: Readonly<Record<TimestampUnit, number>> = { seconds: 6, millis: 3, micros: 0, nanos: -3 };

const notTimestamp: Fault = {
  code: "TYPE_MISMATCH",
  message: "TIMESTAMP takes text like 2024-02-29T23:59:59.999999Z, of a day and time that exist; got other text",
};
const beyondTimestamp: Fault = {
  code: "OUT_OF_RANGE",
  message: "TIMESTAMP holds 0001-01-01 to 9999-12-31, UTC; got an instant beyond",
};
const zoneFaults = {
  unknown: {
    code: "TYPE_MISMATCH",
    message: "TIMESTAMP takes UTC, GMT or a tz-database name as zone; got an abbreviation or a name that is none",
  },
  skipped: { code: "TYPE_MISMATCH", message: "The zone skips this local time: its clocks were set forward" },
  repeated: { code: "TYPE_MISMATCH", message: "The zone has this local time twice: its clocks were set back" },
} as const satisfies Record<string, Fault>;

/** JSON text → TIMESTAMP. Digits alone read as the number would, unless the column has a format. */
export function timestampFromText(column: Column, options: ConversionOptions): Convert {
  const formatted = options.format !== undefined;
  const read = options.format === undefined ? readTimestamp : compileTimeFormat(options.format, "TIMESTAMP");
  const mismatch = formatted ? notFormatted("TIMESTAMP") : notTimestamp;
  const fromNumber = timestampFromNumber(column, options);
  const write = column.timestampPrecision === 12 ? writeText(options, formatted) : writeMicros(options);
  return (bytes, start, end, out) => {
    if (read(bytes, start, end, parts)) return write(bytes, start, end, out);
    if (!formatted && isDigits(bytes, start, end)) return fromNumber(bytes, start, end, out);
    return mismatch;
  };
}

/** Writes the instant that was read as microseconds. */
function writeMicros(options: ConversionOptions): Convert {
  const precise = options.onPrecisionLoss === "round" ? undefined : tooPrecise("TIMESTAMP", 6);
  return (_bytes, _start, _end, out) => {
    const seconds = instantOf(parts);
    if (typeof seconds !== "number") return seconds;
    if (parts.fractionDigits > 6 && precise !== undefined) return precise;
    if (seconds < minSeconds || seconds > maxSeconds) return beyondTimestamp;
    if (seconds > -maxSafeSeconds && seconds < maxSafeSeconds) out.int64(seconds * 1_000_000 + parts.microsecond);
    else out.bigint64(BigInt(seconds) * 1_000_000n + BigInt(parts.microsecond));
    return undefined;
  };
}

/**
 * Writes the instant that was read as text. Up to nine fraction digits come out in UTC and in one form; more than
 * nine leave a literal as it is.
 */
function writeText(options: ConversionOptions, formatted: boolean): Convert {
  const precise = options.onPrecisionLoss === "round" ? undefined : tooPrecise("TIMESTAMP(12)", 12);
  return (bytes, start, end, out) => {
    const seconds = instantOf(parts);
    if (typeof seconds !== "number") return seconds;
    if (parts.fractionDigits > 12 && precise !== undefined) return precise;
    if (seconds < minSeconds || seconds > maxSeconds) return beyondTimestamp;
    const nanosSuffice = parts.picosecond % 1000 === 0;
    if (formatted || nanosSuffice) out.text(utcText(seconds, parts.microsecond, parts.picosecond));
    else if (parts.fractionDigits <= 12) out.lengthDelimited(bytes, start, end);
    else out.text(withShorterFraction(bytes, start, end));
    return undefined;
  };
}

/** The literal with no more than twelve fraction digits, zeros at the end left out. */
function withShorterFraction(bytes: Buffer, start: number, end: number): string {
  const fraction = bytes.toString("latin1", parts.fractionStart, parts.fractionStart + 12).replace(/0+$/, "");
  return (
    bytes.toString("latin1", start, parts.fractionStart) + fraction + bytes.toString("latin1", parts.fractionEnd, end)
  );
}

/** Seconds since the epoch, the fraction left out; a fault when the zone does not say which. */
function instantOf(parts: TimeParts): number | Fault {
  const local = parts.localSeconds;
  if (parts.zone === undefined) return local - parts.offset;
  const instant = instantIn(parts.zone, local);
  return typeof instant === "number" ? instant : zoneFaults[instant];
}

/** JSON number → TIMESTAMP: a number of `timestampUnit` since the epoch. */
export function timestampFromNumber(column: Column, options: ConversionOptions): Convert {
  const unit = options.timestampUnit ?? "micros";
  if (column.timestampPrecision === 12) return textFromNumber(unit, options);
  const power = microsPower[unit];
  const factor = 10 ** power;
  return (bytes, start, end, out) => {
    const micros = factor >= 1 ? plainInteger(bytes, start, end) * factor : Number.NaN;
    if (micros >= -Number.MAX_SAFE_INTEGER && micros <= Number.MAX_SAFE_INTEGER) {
      out.int64(micros);
      return undefined;
    }
    const fault = readScaled(bytes, start, end, power, options);
    if (fault !== undefined) return fault;
    if (!isTimestamp(signedWhole())) return beyondTimestamp;
    whole.magnitude.writeInt64(out, whole.negative);
    return undefined;
  };
}

/** Nanoseconds keep nine fraction digits, any other unit six. */
function textFromNumber(unit: TimestampUnit, options: ConversionOptions): Convert {
  const nanos = unit === "nanos";
  const power = nanos ? 0 : microsPower[unit];
  return (bytes, start, end, out) => {
    const fault = readScaled(bytes, start, end, power, options, maxNanosDigits);
    if (fault !== undefined) return fault;
    return writeInstantText(signedWhole(), nanos ? 1000n : 1n, out);
  };
}

/** Reads a number times 10^power into `whole`, to the microsecond or, with power 0, as it is. */
function readScaled(
  bytes: Buffer,
  start: number,
  end: number,
  power: number,
  options: ConversionOptions,
  maxDigits: number = maxInt64Digits,
): Fault | undefined {
  const exact = readWhole(bytes, start, end, power, maxDigits);
  if (power <= 0 && !wasWrittenWhole()) return notWholeUnits;
  if (!exact && options.onPrecisionLoss === "reject") return finerThanMicros;
  return whole.huge ? beyondTimestamp : undefined;
}

/** Nanoseconds of the last day of TIMESTAMP. */
const maxNanosDigits = 21;

const notWholeUnits: Fault = {
  code: "TYPE_MISMATCH",
  message: "TIMESTAMP takes whole numbers of microseconds or nanoseconds; got a number with a fraction",
};
const finerThanMicros: Fault = {
  code: "PRECISION_LOSS",
  message: "TIMESTAMP keeps microseconds of a number; got a finer one",
};

function signedWhole(): bigint {
  return whole.negative ? -whole.magnitude.toBigInt() : whole.magnitude.toBigInt();
}

function isTimestamp(micros: bigint): boolean {
  return micros >= BigInt(minSeconds) * 1_000_000n && micros < BigInt(maxSeconds + 1) * 1_000_000n;
}

/** @param perMicro how many of the number's unit are a microsecond */
function writeInstantText(value: bigint, perMicro: bigint, out: WireWriter): Fault | undefined {
  const perSecond = perMicro * 1_000_000n;
  const fraction = ((value % perSecond) + perSecond) % perSecond;
  const seconds = Number((value - fraction) / perSecond);
  if (seconds < minSeconds || seconds > maxSeconds) return beyondTimestamp;
  const microsecond = Number(fraction / perMicro);
  const picosecond = Number(fraction % perMicro) * 1000;
  out.text(utcText(seconds, microsecond, picosecond));
  return undefined;
}

const shown = new TimeParts();

/** `YYYY-MM-DDTHH:MM:SS.ffffff+00:00`, with nine or twelve fraction digits where they are needed. */
function utcText(seconds: number, microsecond: number, picosecond: number): string {
  shown.setSeconds(seconds);
  const digits = String(picosecond).padStart(6, "0");
  const finer = picosecond === 0 ? "" : picosecond % 1000 === 0 ? digits.slice(0, 3) : digits;
  const date = `${padded(shown.year, 4)}-${padded(shown.month, 2)}-${padded(shown.day, 2)}`;
  const time = `${padded(shown.hour, 2)}:${padded(shown.minute, 2)}:${padded(shown.second, 2)}`;
  return `${date}T${time}.${padded(microsecond, 6)}${finer}+00:00`;
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
