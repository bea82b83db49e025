/** Single values of a row, in the JSON that `map` prints. */
import { TimeParts } from "../mapping/civil-time.ts";
import { readTimestamp } from "../mapping/time-literals.ts";
import { instantIn } from "../mapping/time-zones.ts";
import type { Column } from "../schema/table-schema.ts";
import type { WireCursor, WireValue } from "./wire-cursor.ts";

/** A value that is no record, as JSON. */
export function cellText(column: Column, value: WireValue): string {
  if (typeof value === "bigint") return integerText(column, BigInt.asIntN(64, value));
  if (typeof value === "number") return doubleText(value);
  return bytesText(column, value);
}

function integerText(column: Column, value: bigint): string {
  switch (column.type) {
    case "BOOL":
      return value === 0n ? "false" : "true";
    case "DATE":
      return quoted(dateText(Number(value)));
    case "TIME":
      return quoted(packedTimeText(value));
    case "DATETIME":
      return quoted(packedDatetimeText(value));
    case "TIMESTAMP":
      return quoted(microsText(value));
    default:
      return quoted(value.toString());
  }
}

function doubleText(value: number): string {
  if (!Number.isFinite(value)) return quoted(String(value));
  return Object.is(value, -0) ? "-0" : String(value);
}

function bytesText(column: Column, value: WireCursor): string {
  switch (column.type) {
    case "NUMERIC":
      return quoted(decimalText(value.rest, 9));
    case "BIGNUMERIC":
      return quoted(decimalText(value.rest, 38));
    case "BYTES":
      return quoted(value.rest.toString("base64"));
    case "TIMESTAMP":
      return quoted(picosText(value.rest));
    default:
      return JSON.stringify(value.rest.toString("utf8"));
  }
}

/** Text in which nothing needs an escape. */
function quoted(text: string): string {
  return `"${text}"`;
}

const parts = new TimeParts();

function dateText(days: number): string {
  parts.setDays(days);
  return partsDate();
}

/** Bits of the packed form: microsecond 20, second 6, minute 6, hour 5, day 5, month 4, year 14 (facts/bigquery-write.md §1.2). */
function packedTimeText(packed: bigint): string {
  const hour = Number((packed >> 32n) & 31n);
  const minute = Number((packed >> 26n) & 63n);
  const second = Number((packed >> 20n) & 63n);
  return `${padded(hour, 2)}:${padded(minute, 2)}:${padded(second, 2)}.${padded(packed & 0xf_ffffn, 6)}`;
}

function packedDatetimeText(packed: bigint): string {
  const year = padded(packed >> 46n, 4);
  const month = padded((packed >> 42n) & 15n, 2);
  const day = padded((packed >> 37n) & 31n, 2);
  return `${year}-${month}-${day}T${packedTimeText(packed)}`;
}

function microsText(micros: bigint): string {
  const micro = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  return `${secondsText(Number((micros - micro) / 1_000_000n))}.${padded(micro, 6)}Z`;
}

/** TIMESTAMP(12), which the row has as text: in UTC, with all twelve digits. */
function picosText(text: Buffer): string {
  const read = new TimeParts();
  readTimestamp(text, 0, text.length, read);
  const local = read.localSeconds;
  const seconds = read.zone === undefined ? local - read.offset : (instantIn(read.zone, local) as number);
  return `${secondsText(seconds)}.${padded(read.microsecond, 6)}${padded(read.picosecond, 6)}Z`;
}

/** Date and time of day, UTC, of whole seconds since the epoch. */
function secondsText(seconds: number): string {
  parts.setSeconds(seconds);
  return `${partsDate()}T${padded(parts.hour, 2)}:${padded(parts.minute, 2)}:${padded(parts.second, 2)}`;
}

function partsDate(): string {
  return `${padded(parts.year, 4)}-${padded(parts.month, 2)}-${padded(parts.day, 2)}`;
}

/** Little-endian two's complement of the value times 10^scale, without exponent or zeros at the end of the fraction. */
function decimalText(bytes: Buffer, scale: number): string {
  const unsigned = BigInt(`0x${Buffer.from(bytes.toReversed()).toString("hex")}`);
  const scaled = BigInt.asIntN(bytes.length * 8, unsigned);
  const digits = (scaled < 0n ? -scaled : scaled).toString().padStart(scale + 1, "0");
  const fraction = digits.slice(-scale).replace(/0+$/, "");
  const integer = digits.slice(0, -scale);
  return `${scaled < 0n ? "-" : ""}${integer}${fraction === "" ? "" : `.${fraction}`}`;
}

function padded(value: number | bigint, width: number): string {
  return value.toString().padStart(width, "0");
}
