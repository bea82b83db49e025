/**
 * THE matrix: which kinds of value go into which column types, and by which conversion. The transcoder binds its
 * conversions here, `check` reads its verdicts here, and docs/type-compatibility.md is rendered from it.
 */
import type { Convert, FieldKind } from "../schema/field.ts";
import type { Column, ColumnType } from "../schema/table-schema.ts";
import { bytesFromBase64 } from "./base64.ts";
import type { ConversionOptions } from "./conversion-options.ts";
import { decimalFromNumber, decimalFromText } from "./decimals.ts";
import { float64FromNumber, float64FromText } from "./doubles.ts";
import { geographyFromObject, geographyFromText } from "./geography.ts";
import { int64FromNumber, int64FromText } from "./integers.ts";
import { intervalFromText } from "./intervals.ts";
import { boolFromBoolean, boolFromText, stringFromCharacters } from "./texts.ts";
import {
  dateFromNumber,
  dateFromText,
  datetimeFromNumber,
  datetimeFromText,
  timeFromNumber,
  timeFromText,
} from "./times.ts";
import { timestampFromNumber, timestampFromText } from "./timestamps.ts";

/**
 * How well a kind of value fits a column: `exact`, every value can be written as it is; `checked`, a value that the
 * column cannot hold is refused; `lossy`, a value may be rounded.
 */
type Fidelity = "exact" | "checked" | "lossy";

export interface Conversion {
  readonly fidelity: Fidelity;
  readonly name: ConversionName;
  /** What a reader of the matrix should know besides. */
  readonly note?: string;
}

/** Conversions of one value on its own: they need the column and the options, nothing else. */
const binders = {
  boolean: () => boolFromBoolean,
  "word of truth": () => boolFromText,
  "whole number": () => int64FromNumber,
  digits: () => int64FromText,
  "nearest double": () => float64FromNumber,
  "double as text": () => float64FromText,
  "rounded decimal": decimalFromNumber,
  "decimal as text": decimalFromText,
  characters: stringFromCharacters,
  "source text": stringFromCharacters,
  base64: bytesFromBase64,
  "date literal": (_column, options) => dateFromText(options),
  "days since 1970": () => dateFromNumber,
  "time literal": (_column, options) => timeFromText(options),
  "packed time": () => timeFromNumber,
  "datetime literal": (_column, options) => datetimeFromText(options),
  "packed datetime": () => datetimeFromNumber,
  "timestamp literal": timestampFromText,
  "time since the epoch": timestampFromNumber,
  "geography text": () => geographyFromText,
  "GeoJSON object": () => geographyFromObject,
  "interval text": (_column, options) => intervalFromText(options),
} as const satisfies Record<string, (column: Column, options: ConversionOptions) => Convert>;

/** Conversions that walk on through the payload: the transcoder has them. */
type WalkingConversion = "members" | "bounds" | "JSON source" | "JSON text";

type ConversionName = keyof typeof binders | WalkingConversion;

function exact(name: ConversionName, note?: string): Conversion {
  return { fidelity: "exact", name, ...(note !== undefined && { note }) };
}

function checked(name: ConversionName, note?: string): Conversion {
  return { fidelity: "checked", name, ...(note !== undefined && { note }) };
}

function lossy(name: ConversionName, note?: string): Conversion {
  return { fidelity: "lossy", name, ...(note !== undefined && { note }) };
}

const jsonSource = checked("JSON source", "refused where BigQuery would store another value");

/** Every kind has a row: the compiler sees to it. A pair that is not here cannot be. */
export const compatibility: Readonly<Record<FieldKind, Readonly<Partial<Record<ColumnType, Conversion>>>>> = {
  "json text": {
    BOOL: checked("word of truth", "true or false, in any case"),
    INT64: checked("digits", "decimal digits with an optional minus sign"),
    FLOAT64: checked("double as text", "a decimal number, NaN, inf or infinity"),
    NUMERIC: checked("decimal as text", "exact; other text as numericBytes says"),
    BIGNUMERIC: checked("decimal as text", "exact; other text as numericBytes says"),
    STRING: exact("characters"),
    BYTES: checked("base64"),
    DATE: checked("date literal"),
    TIME: checked("time literal"),
    DATETIME: checked("datetime literal"),
    TIMESTAMP: checked("timestamp literal", "digits alone read as the number would"),
    JSON: checked("JSON text", "the text must itself be JSON"),
    GEOGRAPHY: checked("geography text", "WKT or GeoJSON"),
    INTERVAL: checked("interval text", "canonical form or ISO 8601 duration"),
  },
  "json number": {
    INT64: checked("whole number", "1.0 and 1e3 are whole"),
    FLOAT64: lossy("nearest double"),
    NUMERIC: lossy("rounded decimal", "half away from zero"),
    BIGNUMERIC: lossy("rounded decimal", "half away from zero"),
    STRING: exact("source text"),
    DATE: checked("days since 1970"),
    TIME: checked("packed time", "the packed form of civil time"),
    DATETIME: checked("packed datetime", "the packed form of civil time"),
    TIMESTAMP: checked("time since the epoch", "microseconds, or timestampUnit"),
    JSON: jsonSource,
  },
  "json boolean": {
    BOOL: exact("boolean"),
    STRING: exact("source text"),
    JSON: exact("JSON source"),
  },
  "json object": {
    JSON: jsonSource,
    GEOGRAPHY: checked("GeoJSON object", "a geometry"),
    RANGE: checked("bounds", "start and end, each by the rules of the element type"),
    STRUCT: checked("members", "field by field"),
  },
  "json array": {
    JSON: jsonSource,
  },
};

/**
 * The conversion of one kind of value into a column.
 *
 * @returns undefined when the pair is not in the matrix, or when the transcoder has the conversion: those into
 *   STRUCT, RANGE and JSON. The mode is not looked at: a REPEATED column is converted element by element.
 * @throws SetupError when `format` is no pattern that this column can be read by
 */
export function bindConversion(kind: FieldKind, column: Column, options: ConversionOptions): Convert | undefined {
  const name = compatibility[kind][column.type]?.name;
  return name !== undefined && isBound(name) ? binders[name](column, options) : undefined;
}

function isBound(name: ConversionName): name is keyof typeof binders {
  return Object.hasOwn(binders, name);
}
