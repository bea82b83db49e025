/** NUMERIC and BIGNUMERIC: whole numbers of 10^-9 and 10^-38, in bigint arithmetic alone. */
import { InvalidValue } from "./cell.ts";
import type { ValueType } from "./column.ts";

/** Fraction digits, bytes and bounds of both decimal types. */
const kinds = {
  NUMERIC: { digits: 9, bytes: 16, min: -(10n ** 38n - 1n), max: 10n ** 38n - 1n },
  BIGNUMERIC: { digits: 38, bytes: 32, min: -(2n ** 255n), max: 2n ** 255n - 1n },
} as const;

type DecimalType = ValueType & { readonly type: keyof typeof kinds };

const decimalText = /^([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?$/;

/** Beyond this exponent a decimal is zero or out of range whatever its digits; keeps 10^n affordable. */
const maxExponent = 10_000;

/** A decimal as text, rounded to the digits of the type. @throws InvalidValue */
export function decimalFromText(text: string, type: DecimalType): bigint {
  const match = decimalText.exec(text);
  if (!match) throw new InvalidValue(`Text is no ${type.type} value`);
  const [, sign, mantissa = "", exponent = "0"] = match;
  const [whole = "", fraction = ""] = mantissa.split(".");
  const unsigned = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length + kinds[type.type].digits;
  if (unsigned !== 0n && shift > maxExponent) throw new InvalidValue(outOfRange(type));
  const scaled = unsigned === 0n || shift < -maxExponent ? 0n : scaleBy(unsigned, shift, type.roundHalfEven ?? false);
  return fit(sign === "-" ? -scaled : scaled, type);
}

/** The byte form: two's complement, little-endian, 1 to 16 (32) bytes. @throws InvalidValue */
export function decimalFromBytes(bytes: Uint8Array, type: DecimalType): bigint {
  const { bytes: most } = kinds[type.type];
  if (bytes.length === 0 || bytes.length > most) {
    throw new InvalidValue(`${type.type} takes 1 to ${most} bytes, got ${bytes.length}`);
  }
  const unsigned = BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`);
  return fit(BigInt.asIntN(bytes.length * 8, unsigned), type);
}

/** @throws InvalidValue */
export function decimalFromInteger(value: bigint, type: DecimalType): bigint {
  return fit(value * 10n ** BigInt(kinds[type.type].digits), type);
}

/** The exact binary value of a double, rounded to the digits of the type. @throws InvalidValue */
export function decimalFromDouble(value: number, type: DecimalType): bigint {
  if (!Number.isFinite(value)) throw new InvalidValue(`${type.type} holds no NaN and no infinity`);
  const { negative, significand, exponent } = partsOfDouble(value);
  const scaled = significand * 10n ** BigInt(kinds[type.type].digits);
  const magnitude =
    exponent >= 0
      ? scaled << BigInt(exponent)
      : roundedQuotient(scaled, 1n << BigInt(-exponent), type.roundHalfEven ?? false);
  return fit(negative ? -magnitude : magnitude, type);
}

/** Without exponent, plus sign or trailing zeros of the fraction. */
export function textOfDecimal(scaled: bigint, type: keyof typeof kinds): string {
  const { digits } = kinds[type];
  const padded = (scaled < 0n ? -scaled : scaled).toString().padStart(digits + 1, "0");
  const whole = padded.slice(0, -digits);
  const fraction = padded.slice(-digits).replace(/0+$/, "");
  return `${scaled < 0n ? "-" : ""}${whole}${fraction && `.${fraction}`}`;
}

/** Rounds to the column's own scale, then checks the bounds of its type and precision. */
function fit(scaled: bigint, type: DecimalType): bigint {
  const { digits, min, max } = kinds[type.type];
  if (type.precision === undefined) {
    if (scaled < min || scaled > max) throw new InvalidValue(outOfRange(type));
    return scaled;
  }
  const unit = 10n ** BigInt(digits - (type.scale ?? 0));
  const magnitude = roundedQuotient(scaled < 0n ? -scaled : scaled, unit, type.roundHalfEven ?? false);
  if (magnitude >= 10n ** BigInt(type.precision)) throw new InvalidValue(outOfRange(type));
  return magnitude * unit * (scaled < 0n ? -1n : 1n);
}

function outOfRange(type: DecimalType): string {
  if (type.precision === undefined) return `Value is out of range of ${type.type}`;
  return `Value is out of range of ${type.type}(${type.precision},${type.scale ?? 0})`;
}

function scaleBy(value: bigint, power: number, halfEven: boolean): bigint {
  if (power >= 0) return value * 10n ** BigInt(power);
  return roundedQuotient(value, 10n ** BigInt(-power), halfEven);
}

/** Of two numbers that are not negative. */
function roundedQuotient(value: bigint, unit: bigint, halfEven: boolean): bigint {
  const quotient = value / unit;
  const twice = (value % unit) * 2n;
  const up = twice > unit || (twice === unit && (!halfEven || quotient % 2n === 1n));
  return up ? quotient + 1n : quotient;
}

/** value = significand × 2^exponent, by the layout of IEEE 754. */
function partsOfDouble(value: number): { negative: boolean; significand: bigint; exponent: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & ((1n << 52n) - 1n);
  return {
    negative: bits >> 63n === 1n,
    significand: biased === 0 ? fraction : fraction | (1n << 52n),
    exponent: Math.max(biased, 1) - 1075,
  };
}
