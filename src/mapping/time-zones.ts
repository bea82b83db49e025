/** Local times in zones of the tz database, by the copy of it that Node's Intl carries. */
import { daysOf } from "./civil-time.ts";

/** Local time that a zone skips or repeats when its clocks are set, or a zone that nobody can know for sure. */
export type ZoneFault = "unknown" | "skipped" | "repeated";

/** No zone ever was farther from UTC, the days before standard time included. */
const maxOffset = 16 * 3600;

/**
 * Names of three letters are abbreviations: `EST` or `CST` mean different zones in different places, even where the
 * tz database happens to have the name.
 */
const abbreviation = /^[A-Za-z]{3}$/;
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * Finds the one instant at which the clocks of a zone show a local time.
 *
 * @param localSeconds seconds since 1970-01-01T00:00:00 on the clocks of the zone
 * @returns seconds since the epoch
 */
export function instantIn(zone: string, localSeconds: number): number | ZoneFault {
  const folded = zone.toLowerCase();
  if (folded === "utc" || folded === "gmt") return localSeconds;
  const format = zoneFormat(folded);
  if (format === undefined) return "unknown";
  // Every offset in force around the local time is tried: an instant fits when its own offset leads to it.
  const instants = new Set<number>();
  for (const probe of [localSeconds - maxOffset, localSeconds + maxOffset]) {
    const nearby = localSeconds - offsetAt(format, probe);
    for (const offset of [offsetAt(format, probe), offsetAt(format, nearby)]) {
      const instant = localSeconds - offset;
      if (offsetAt(format, instant) === offset) instants.add(instant);
    }
  }
  const [instant] = instants;
  if (instant === undefined) return "skipped";
  return instants.size > 1 ? "repeated" : instant;
}

/** Only zones that exist are kept, by their folded names, so that hostile texts cannot fill the memory. */
function zoneFormat(folded: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(folded);
  if (known !== undefined) return known;
  if (abbreviation.test(folded) || !zoneName.test(folded)) return undefined;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: folded,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    formats.set(folded, format);
    return format;
  } catch {
    return undefined;
  }
}

const shown = /^(\d+)\/(\d+)\/(\d+) (AD|BC), (\d+):(\d+):(\d+)$/;

/** Seconds east of UTC at an instant. */
function offsetAt(format: Intl.DateTimeFormat, instant: number): number {
  const [, month, day, year, era, hour, minute, second] = shown.exec(format.format(instant * 1000))!.map(String);
  const gregorianYear = era === "AD" ? Number(year) : 1 - Number(year);
  const days = daysOf(gregorianYear, Number(month), Number(day));
  return days * 86_400 + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - instant;
}
