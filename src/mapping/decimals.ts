/**
 * NUMERIC and BIGNUMERIC: decimal digits into the integer that travels, value · 10^9 or value · 10^38.
 *
 * A JSON number is rounded to the column's scale, half away from zero; text is exact (BQ-TBL-06). Range and precision
 * are checked after the rounding.
 */
import type { Fault } from "../errors.ts";
import { decimalLimits } from "../schema/column-rules.ts";
import type { DecimalType } from "../schema/column-rules.ts";
import type { Convert } from "../schema/field.ts";
import type { Column } from "../schema/table-schema.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { decodeBase64, decodedLength } from "./base64.ts";
import type { ConversionOptions } from "./conversion-options.ts";
import { DecimalScan } from "./decimal-scan.ts";
import { Magnitude, limbsOf } from "./magnitude.ts";
import type { Limbs } from "./magnitude.ts";

/** More integer digits than this fit no decimal column. */
const maxIntegerDigits = 39;

/** A decimal column, prepared for its conversions. */
interface DecimalTarget {
  /** Fraction digits that the column keeps. */
  readonly scale: number;
  /** Fraction digits of the form that travels. */
  readonly wireScale: number;
  /** Largest magnitudes of the form that travels. */
  readonly maxPositive: Limbs;
  readonly maxNegative: Limbs;
  /** Range of the form that travels, whatever the column's precision. */
  readonly typeMin: bigint;
  readonly typeMax: bigint;
  /** How the column is called in messages, and what it holds. */
  readonly name: string;
  readonly capacity: string;
  readonly precisionLoss: Fault;
  readonly notNumber: Fault;
}

const scan = new DecimalScan();
const magnitude = new Magnitude();

/** JSON number → NUMERIC or BIGNUMERIC, rounded. */
export function decimalFromNumber(column: Column): Convert {
  const target = decimalTarget(column);
  return (bytes, start, end, out) => {
    scan.scan(bytes, start, end);
    return writeScanned(bytes, target, true, out);
  };
}

/** JSON text → NUMERIC or BIGNUMERIC: a decimal number; other text as `numericBytes` says (BQ-TBL-07). */
export function decimalFromText(column: Column, options: ConversionOptions): Convert {
  const target = decimalTarget(column);
  const rounds = options.onPrecisionLoss === "round";
  const encoded = encodedText(options.numericBytes);
  return (bytes, start, end, out) => {
    if (scan.scan(bytes, start, end)) return writeScanned(bytes, target, rounds, out);
    const value = encoded(bytes, start, end);
    return value === undefined ? target.notNumber : writeEncoded(value, target, rounds, out);
  };
}

/** Writes the number that was scanned. */
function writeScanned(bytes: Buffer, target: DecimalTarget, rounds: boolean, out: WireWriter): Fault | undefined {
  const shift = scan.exponent + target.scale;
  if (shift < 0 && !rounds) return target.precisionLoss;
  if (scan.integerDigits > maxIntegerDigits) return outOfRange(target);
  const unit = target.wireScale - target.scale;
  if (shift < 0) {
    const kept = scan.digits + shift;
    magnitude.readDigits(bytes, scan.first, kept);
    if (kept >= 0 && scan.digitAt(bytes, kept) >= 5) magnitude.increment();
    magnitude.timesPowerOfTen(unit);
  } else {
    magnitude.readDigits(bytes, scan.first, scan.digits);
    magnitude.timesPowerOfTen(shift + unit);
  }
  if (magnitude.exceeds(scan.negative ? target.maxNegative : target.maxPositive)) return outOfRange(target);
  magnitude.writeTwosComplement(out, scan.negative);
  return undefined;
}

function outOfRange(target: DecimalTarget): Fault {
  return {
    code: "OUT_OF_RANGE",
    message: `${target.name} holds ${target.capacity}; got a number of ${scan.integerDigits} integer digits`,
  };
}

/** Writes a number that came in the form that travels. */
function writeEncoded(value: bigint, target: DecimalTarget, rounds: boolean, out: WireWriter): Fault | undefined {
  const beyond: Fault = {
    code: "OUT_OF_RANGE",
    message: `${target.name} holds ${target.capacity}; got encoded bytes of a number beyond`,
  };
  if (value < target.typeMin || value > target.typeMax) return beyond;
  const negative = value < 0n;
  const absolute = negative ? -value : value;
  const unit = 10n ** BigInt(target.wireScale - target.scale);
  if (absolute % unit !== 0n && !rounds) return target.precisionLoss;
  magnitude.set(((absolute + unit / 2n) / unit) * unit);
  if (magnitude.exceeds(negative ? target.maxNegative : target.maxPositive)) return beyond;
  magnitude.writeTwosComplement(out, negative);
  return undefined;
}

/** Reads text that is no number; undefined when it is no encoded number either. */
type EncodedText = (bytes: Buffer, start: number, end: number) => bigint | undefined;

function encodedText(numericBytes: ConversionOptions["numericBytes"]): EncodedText {
  if (numericBytes === "refuse") return () => undefined;
  const decode = numericBytes === "base64" ? base64Bytes : latin1Bytes;
  return (bytes, start, end) => {
    const encoded = decode(bytes, start, end);
    return encoded === undefined || encoded.length === 0 ? undefined : signedLittleEndian(encoded);
  };
}

function base64Bytes(bytes: Buffer, start: number, end: number): Buffer | undefined {
  const decoded = Buffer.alloc(decodedLength(bytes, start, end));
  return decodeBase64(bytes, start, end, decoded, 0) < 0 ? undefined : decoded;
}

/** One byte per character; undefined when a character is beyond U+00FF. */
function latin1Bytes(bytes: Buffer, start: number, end: number): Buffer | undefined {
  const text = bytes.toString("utf8", start, end);
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return undefined;
  return Buffer.from(text, "latin1");
}

function signedLittleEndian(encoded: Buffer): bigint {
  const bits = BigInt(`0x${Buffer.from(encoded.toReversed()).toString("hex")}`);
  return BigInt.asIntN(8 * encoded.length, bits);
}

/** Range of the form that travels. */
const typeRanges: Readonly<Record<DecimalType, readonly [min: bigint, max: bigint]>> = {
  NUMERIC: [-(10n ** 38n) + 1n, 10n ** 38n - 1n],
  BIGNUMERIC: [-(2n ** 255n), 2n ** 255n - 1n],
};

function decimalTarget(column: Column): DecimalTarget {
  const type = column.type as DecimalType;
  const wireScale = decimalLimits[type].maxScale;
  const [typeMin, typeMax] = typeRanges[type];
  const common = {
    wireScale,
    typeMin,
    typeMax,
    notNumber: {
      code: "TYPE_MISMATCH",
      message: `${type} takes text of a decimal number; got other text. The option numericBytes reads it as encoded bytes`,
    },
  } as const;
  if (column.precision === undefined) {
    const capacity = type === "NUMERIC" ? "at most 29 integer digits" : "numbers up to about 5.79e38";
    const limits = { scale: wireScale, maxPositive: limbsOf(typeMax), maxNegative: limbsOf(-typeMin) };
    return { ...common, ...limits, name: type, capacity, precisionLoss: precisionLoss(type, wireScale) };
  }
  const scale = column.scale ?? 0;
  const integerDigits = column.precision - scale;
  const max = limbsOf(10n ** BigInt(integerDigits + wireScale) - 1n);
  const name = `${type}(${column.precision}, ${scale})`;
  const capacity = `at most ${integerDigits} integer digits`;
  return {
    ...common,
    scale,
    maxPositive: max,
    maxNegative: max,
    name,
    capacity,
    precisionLoss: precisionLoss(name, scale),
  };
}

function precisionLoss(name: string, scale: number): Fault {
  return { code: "PRECISION_LOSS", message: `${name} keeps ${scale} fraction digits; got text with more` };
}
