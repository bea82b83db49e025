/** INTERVAL: `[±]Y-M [±]D [±]H:M:S[.F]`, one sign for each of its three parts. */
import { InvalidValue, type Interval } from "./cell.ts";

const form = /^([+-]?)(\d+)-(\d+) ([+-]?)(\d+) ([+-]?)(\d+):(\d+):(\d+)(?:\.(\d{1,6}))?$/;

const maxMonths = 120_000;
const maxDays = 3_660_000;
const maxMicros = 87_840_000n * 3_600_000_000n;

/** @throws InvalidValue */
export function parseInterval(text: string): Interval {
  const parts = form.exec(text);
  if (!parts) throw new InvalidValue("Text is no INTERVAL in canonical form");
  const [, monthSign, years, months, daySign, days, timeSign, hours, minutes, seconds, fraction = ""] = parts;
  const whole = (BigInt(hours!) * 60n + BigInt(minutes!)) * 60n + BigInt(seconds!);
  const micros = whole * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
  const interval = {
    months: signed(monthSign, Number(years) * 12 + Number(months)),
    days: signed(daySign, Number(days)),
    micros: timeSign === "-" ? -micros : micros,
  };
  if (Math.abs(interval.months) > maxMonths || Math.abs(interval.days) > maxDays || micros > maxMicros) {
    throw new InvalidValue("INTERVAL is out of range");
  }
  return interval;
}

/** Canonical form; zeros at the end of the fraction are left out. */
export function textOfInterval({ months, days, micros }: Interval): string {
  const size = micros < 0n ? -micros : micros;
  const seconds = size / 1_000_000n;
  const fraction = String(size % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const clock = `${seconds / 3600n}:${(seconds / 60n) % 60n}:${seconds % 60n}${fraction && `.${fraction}`}`;
  const calendar = `${Math.trunc(Math.abs(months) / 12)}-${Math.abs(months) % 12}`;
  return `${months < 0 ? "-" : ""}${calendar} ${days} ${micros < 0n ? "-" : ""}${clock}`;
}

function signed(sign: string | undefined, size: number): number {
  // Without the second condition "-0-0" would become -0.
  return sign === "-" && size !== 0 ? -size : size;
}
