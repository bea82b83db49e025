/** DATE, TIME and DATETIME: days since 1970-01-01, and the packed forms of civil time. */
import type { Fault } from "../errors.ts";
import type { Convert } from "../schema/field.ts";
import {
  TimeParts,
  isPackedDatetime,
  isPackedTime,
  maxDays,
  minDays,
  writePackedDatetime,
  writePackedTime,
} from "./civil-time.ts";
import type { ConversionOptions } from "./conversion-options.ts";
import { plainInteger, readWhole, whole } from "./integers.ts";
import { compileTimeFormat } from "./time-format.ts";
import { readDate, readDatetime, readTime } from "./time-literals.ts";

const parts = new TimeParts();

const notDate: Fault = {
  code: "TYPE_MISMATCH",
  message: "DATE takes text like 2024-02-29, of a day that exists; got other text",
};
const notDays: Fault = {
  code: "TYPE_MISMATCH",
  message: "DATE takes whole numbers, days since 1970-01-01; got a number with a fraction",
};
const beyondDate: Fault = {
  code: "OUT_OF_RANGE",
  message: `DATE holds ${minDays} to ${maxDays} days since 1970-01-01, the years 1 to 9999; got a number beyond`,
};
const notTime: Fault = {
  code: "TYPE_MISMATCH",
  message: "TIME takes text like 23:59:59.999999, of a time of day that exists; got other text",
};
const notDatetime: Fault = {
  code: "TYPE_MISMATCH",
  message: "DATETIME takes text like 2024-02-29T23:59:59.999999, of a day and time that exist; got other text",
};

/** Text that has not the form of the column's `format`. */
export function notFormatted(type: string): Fault {
  return {
    code: "TYPE_MISMATCH",
    message: `${type} takes text of the column's format, of a day and time that exist; got other text`,
  };
}

/** A fraction of a second that the column does not keep. */
export function tooPrecise(type: string, digits: number): Fault {
  return { code: "PRECISION_LOSS", message: `${type} keeps ${digits} fraction digits of a second; got text with more` };
}

/** JSON text → DATE. */
export function dateFromText(options: ConversionOptions): Convert {
  const read = options.format === undefined ? readDate : compileTimeFormat(options.format, "DATE");
  const mismatch = options.format === undefined ? notDate : notFormatted("DATE");
  return (bytes, start, end, out) => {
    if (!read(bytes, start, end, parts)) return mismatch;
    out.int64(parts.days);
    return undefined;
  };
}

/** JSON number → DATE: days since 1970-01-01. */
export const dateFromNumber: Convert = (bytes, start, end, out) => {
  let days = plainInteger(bytes, start, end);
  if (Number.isNaN(days)) {
    if (!readWhole(bytes, start, end)) return notDays;
    if (whole.huge) return beyondDate;
    days = whole.negative ? -whole.magnitude.toNumber() : whole.magnitude.toNumber();
  }
  if (days < minDays || days > maxDays) return beyondDate;
  out.int64(days);
  return undefined;
};

/** JSON text → TIME. */
export function timeFromText(options: ConversionOptions): Convert {
  const read = options.format === undefined ? readTime : compileTimeFormat(options.format, "TIME");
  const mismatch = options.format === undefined ? notTime : notFormatted("TIME");
  const precise = options.onPrecisionLoss === "round" ? undefined : tooPrecise("TIME", 6);
  return (bytes, start, end, out) => {
    if (!read(bytes, start, end, parts)) return mismatch;
    if (parts.fractionDigits > 6 && precise !== undefined) return precise;
    writePackedTime(parts, out);
    return undefined;
  };
}

/** JSON text → DATETIME. */
export function datetimeFromText(options: ConversionOptions): Convert {
  const read = options.format === undefined ? readDatetime : compileTimeFormat(options.format, "DATETIME");
  const mismatch = options.format === undefined ? notDatetime : notFormatted("DATETIME");
  const precise = options.onPrecisionLoss === "round" ? undefined : tooPrecise("DATETIME", 6);
  return (bytes, start, end, out) => {
    if (!read(bytes, start, end, parts)) return mismatch;
    if (parts.fractionDigits > 6 && precise !== undefined) return precise;
    writePackedDatetime(parts, out);
    return undefined;
  };
}

/** JSON number → TIME: the packed form itself, if it is one of a time that exists (BQ-TBL-05). */
export const timeFromNumber = packedFromNumber("TIME", isPackedTime);

/** JSON number → DATETIME: the packed form itself, if it is one of a day and time that exist (BQ-TBL-05). */
export const datetimeFromNumber = packedFromNumber("DATETIME", isPackedDatetime);

function packedFromNumber(type: string, isPacked: (low: number, high: number) => boolean): Convert {
  const notPacked: Fault = {
    code: "TYPE_MISMATCH",
    message: `${type} takes whole numbers, the packed form of civil time; got a number with a fraction`,
  };
  const unreal: Fault = {
    code: "OUT_OF_RANGE",
    message: `${type} takes a number as the packed form of civil time; got one that is no time that exists`,
  };
  return (bytes, start, end, out) => {
    if (!readWhole(bytes, start, end)) return notPacked;
    const { huge, negative, magnitude } = whole;
    if (huge || (negative && magnitude.toNumber() > 0)) return unreal;
    if (!isPacked(magnitude.low, magnitude.high)) return unreal;
    magnitude.writeInt64(out, false);
    return undefined;
  };
}
