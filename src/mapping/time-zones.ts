/** Local times in zones of the tz database, by the copy of it that Node's Intl carries. */
import { daysOf } from "./civil-time.ts";

/** Local time that a zone skips or repeats when its clocks are set, or a zone that nobody can know for sure. */
export type ZoneFault = "unknown" | "skipped" | "repeated";

const secondsPerDay = 86_400;

/** No zone ever was farther from UTC, the days before standard time included. */
const maxOffset = 16 * 3600;

/** How many days a zone remembers. Messages tend to be of few days. */
const maxDays = 512;

/**
 * Names of three letters are abbreviations: `EST` or `CST` mean different zones in different places, even where the
 * tz database happens to have the name.
 */
const abbreviation = /^[A-Za-z]{3}$/;
const zoneName = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/** Only zones that exist are kept, by their folded names, so that hostile texts cannot fill the memory. */
const zones = new Map<string, Zone>();

/**
 * Finds the one instant at which the clocks of a zone show a local time.
 *
 * @param localSeconds seconds since 1970-01-01T00:00:00 on the clocks of the zone
 * @returns seconds since the epoch
 */
export function instantIn(name: string, localSeconds: number): number | ZoneFault {
  const folded = name.toLowerCase();
  if (folded === "utc" || folded === "gmt") return localSeconds;
  return zoneOf(folded)?.instantOf(localSeconds) ?? "unknown";
}

function zoneOf(folded: string): Zone | undefined {
  const known = zones.get(folded);
  if (known !== undefined) return known;
  if (abbreviation.test(folded) || !zoneName.test(folded)) return undefined;
  try {
    const zone = new Zone(folded);
    zones.set(folded, zone);
    return zone;
  } catch {
    return undefined;
  }
}

/** Offsets in force at the beginning and at the end of a time, in seconds east of UTC. */
interface Offsets {
  readonly first: number;
  readonly last: number;
}

const shown = /^(\d+)\/(\d+)\/(\d+) (AD|BC), (\d+):(\d+):(\d+)$/;

class Zone {
  readonly #clock: Intl.DateTimeFormat;
  readonly #days = new Map<number, Offsets>();

  /** @throws RangeError when there is no such zone */
  constructor(name: string) {
    this.#clock = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
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
  }

  instantOf(localSeconds: number): number | ZoneFault {
    const { first, last } = this.#around(Math.floor(localSeconds / secondsPerDay));
    if (first === last) return localSeconds - first;
    // The clocks are set on this day or near it: an offset counts if it is in force at the instant that it leads to.
    const before = this.#offsetAt(localSeconds - first) === first;
    const after = this.#offsetAt(localSeconds - last) === last;
    if (before && after) return "repeated";
    if (before) return localSeconds - first;
    return after ? localSeconds - last : "skipped";
  }

  /**
   * The offsets in force at the ends of the 56 hours to which the instants of a local day belong. In the whole tz
   * database no zone changes its offset twice within 95 hours (Freetown, 1939): there is at most one change between.
   */
  #around(day: number): Offsets {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    if (this.#days.size === maxDays) this.#days.clear();
    const midnight = day * secondsPerDay;
    const first = this.#offsetAt(midnight - maxOffset);
    const last = this.#offsetAt(midnight + secondsPerDay + maxOffset);
    const offsets = { first, last };
    this.#days.set(day, offsets);
    return offsets;
  }

  /** Seconds east of UTC at an instant. */
  #offsetAt(instant: number): number {
    const [, month, day, year, era, hour, minute, second] = shown.exec(this.#clock.format(instant * 1000))!.map(String);
    const gregorianYear = era === "AD" ? Number(year) : 1 - Number(year);
    const days = daysOf(gregorianYear, Number(month), Number(day));
    return days * secondsPerDay + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - instant;
  }
}
