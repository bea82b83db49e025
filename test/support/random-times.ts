/** Random dates, times and zones as text: mostly real ones, in every spelling of the literal grammar. */
import { chance, digits, pick } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";

const oddDates = [
  "0001-01-01",
  "9999-12-31",
  "0000-12-31",
  "1900-02-29",
  "2000-02-29",
  "2023-02-29",
  "2024-2-29",
  "10000-01-01",
  "2021-13-01",
  "2021-04-31",
  "1970-01-01",
  "1969-12-31",
  "2021-00-10",
  "2021-03-14",
];
const oddTimes = [
  "00:00:00",
  "23:59:59.999999",
  "23:59:60",
  "23:59:60.0",
  "24:00:00",
  "12:60:00",
  "02:30:00",
  "1:2:3",
  "12:00",
  "12:00:00.",
  "23:59:59.9999999",
];
const zones = [
  "Z",
  "z",
  "+00:00",
  "-00:00",
  "+5",
  "+05:30",
  "-8",
  "+14:00",
  "-14:00",
  "+14:01",
  "+05:60",
  " UTC",
  " GMT",
  " Europe/Berlin",
  " America/New_York",
  " Asia/Kathmandu",
  " Australia/Lord_Howe",
  " PST",
  " Mars/Phobos",
  " +01:00",
  "UTC",
];

function padded(choose: Choose, value: number): string {
  return chance(choose, 15) ? String(value) : String(value).padStart(2, "0");
}

export function randomDate(choose: Choose): string {
  if (chance(choose, 20)) return pick(choose, oddDates);
  const year = chance(choose, 70) ? choose(1970, 2037) : choose(1, 9999);
  return `${String(year).padStart(4, "0")}-${padded(choose, choose(1, 12))}-${padded(choose, choose(1, 28))}`;
}

export function randomTime(choose: Choose): string {
  if (chance(choose, 20)) return pick(choose, oddTimes);
  const fraction = chance(choose, 50) ? `.${randomFraction(choose)}` : "";
  return `${padded(choose, choose(0, 23))}:${padded(choose, choose(0, 59))}:${padded(choose, choose(0, 59))}${fraction}`;
}

/** Mostly up to six digits; sometimes more, of which some are zeros only. */
function randomFraction(choose: Choose): string {
  if (chance(choose, 80)) return digits(choose, choose(1, 6));
  return digits(choose, choose(5, 13)) + "0".repeat(choose(0, 3));
}

export function randomDatetime(choose: Choose): string {
  if (chance(choose, 10)) return randomDate(choose);
  return `${randomDate(choose)}${pick(choose, ["T", " ", "t", "T", "  "])}${randomTime(choose)}`;
}

export function randomTimestamp(choose: Choose): string {
  return randomDatetime(choose) + (chance(choose, 70) ? pick(choose, zones) : "");
}

const intervals = [
  "0-0 0 0:0:0",
  "-10000-0 -3660000 -87840000:0:0",
  "10000-1 0 0:0:0",
  "0-12 0 0:0:0",
  "0-0 0 0:60:0",
  "+1-2 +3 +4:5:6.7",
  "P",
  "PT",
  "P1Y",
  "PT0.000001S",
  "PT-0.5S",
  "P-1Y+2M",
  "PT1.0000001S",
  "P1W",
  "1 day",
  "P1YT",
  "p1y",
];

export function randomInterval(choose: Choose): string {
  if (chance(choose, 40)) return pick(choose, intervals);
  const sign = (): string => pick(choose, ["", "", "-", "+"]);
  const fraction = chance(choose, 40) ? `.${randomFraction(choose)}` : "";
  if (chance(choose, 50)) {
    const date = `${sign()}${choose(0, 10_000)}-${choose(0, 11)} ${sign()}${choose(0, 3_660_000)}`;
    return `${date} ${sign()}${choose(0, 1000)}:${choose(0, 59)}:${choose(0, 59)}${fraction}`;
  }
  const part = (unit: string, most: number): string => (chance(choose, 60) ? `${sign()}${choose(0, most)}${unit}` : "");
  const date = part("Y", 50) + part("M", 40) + part("D", 400);
  const time = part("H", 100) + part("M", 200) + (chance(choose, 50) ? `${sign()}${choose(0, 100)}${fraction}S` : "");
  return `P${date}${time && `T${time}`}`;
}
