import { describe, expect, test } from "vitest";
import { instantIn } from "../../../src/mapping/time-zones.ts";

/** Seconds since 1970-01-01T00:00:00 of a time without a zone. */
function local(text: string): number {
  return Date.parse(`${text}Z`) / 1000;
}

/** Seconds since the epoch of a time with an offset. */
function at(text: string): number {
  return Date.parse(text) / 1000;
}

describe("local times in zones", () => {
  test.each([
    ["America/New_York", "2024-01-15T12:00:00", "2024-01-15T12:00:00-05:00"],
    ["America/New_York", "2024-07-15T12:00:00", "2024-07-15T12:00:00-04:00"],
    // The last second before the clocks go forward, and the first after.
    ["America/New_York", "2024-03-10T01:59:59", "2024-03-10T01:59:59-05:00"],
    ["America/New_York", "2024-03-10T03:00:00", "2024-03-10T03:00:00-04:00"],
    // The last second before the repeated hour, and the first after.
    ["America/New_York", "2024-11-03T00:59:59", "2024-11-03T00:59:59-04:00"],
    ["America/New_York", "2024-11-03T02:00:00", "2024-11-03T02:00:00-05:00"],
    ["Asia/Kolkata", "2024-07-15T12:00:00", "2024-07-15T12:00:00+05:30"],
    ["Asia/Kathmandu", "2024-07-15T12:00:00", "2024-07-15T12:00:00+05:45"],
    ["Australia/Lord_Howe", "2024-01-15T12:00:00", "2024-01-15T12:00:00+11:00"],
    ["Pacific/Kiritimati", "2024-07-15T12:00:00", "2024-07-15T12:00:00+14:00"],
    ["Pacific/Apia", "2011-12-29T23:59:59", "2011-12-29T23:59:59-10:00"],
    ["Pacific/Apia", "2011-12-31T00:00:00", "2011-12-31T00:00:00+14:00"],
    ["Etc/GMT+8", "2024-07-15T12:00:00", "2024-07-15T12:00:00-08:00"],
    ["europe/london", "2024-07-15T12:00:00", "2024-07-15T12:00:00+01:00"],
    ["Japan", "2024-07-15T12:00:00", "2024-07-15T12:00:00+09:00"],
    ["utc", "2024-07-15T12:00:00", "2024-07-15T12:00:00Z"],
    ["GMT", "2024-07-15T12:00:00", "2024-07-15T12:00:00Z"],
  ])("%s %s", (zone, time, instant) => expect(instantIn(zone, local(time))).toBe(at(instant)));

  test("before standard time, offsets have seconds: New York was 4:56:02 behind", () => {
    expect(instantIn("America/New_York", local("1800-01-01T00:00:00"))).toBe(at("1800-01-01T04:56:02Z"));
  });

  test.each([
    ["America/New_York", "2024-03-10T02:00:00", "skipped"],
    ["America/New_York", "2024-03-10T02:59:59", "skipped"],
    ["America/New_York", "2024-11-03T01:00:00", "repeated"],
    ["America/New_York", "2024-11-03T01:59:59", "repeated"],
    ["Australia/Lord_Howe", "2024-04-07T01:45:00", "repeated"],
    ["Australia/Lord_Howe", "2024-10-06T02:15:00", "skipped"],
    // Samoa left out a whole day.
    ["Pacific/Apia", "2011-12-30T12:00:00", "skipped"],
    // Manila had been a day behind the rest of Asia.
    ["Asia/Manila", "1844-12-31T12:00:00", "skipped"],
  ])("%s %s is %s", (zone, time, fault) => expect(instantIn(zone, local(time))).toBe(fault));

  test.each([
    "EST",
    "cst",
    "PST",
    "CET",
    "MEZ",
    "Z",
    "",
    "Europe/Atlantis",
    "+05:30",
    "-8",
    "Europe/Berlin ",
    "__proto__",
    "UTC+1",
  ])("%j is no zone", (zone) => expect(instantIn(zone, 0)).toBe("unknown"));

  test("many days of a zone, more than are remembered, come out the same", () => {
    const noons = Array.from({ length: 1500 }, (_, day) => local("2020-01-01T12:00:00") + day * 86_400);
    const offsets = noons.map((noon) => noon - (instantIn("Europe/Berlin", noon) as number));
    expect(noons.map((noon) => noon - (instantIn("Europe/Berlin", noon) as number))).toEqual(offsets);
    // 2020–2023 and 39 days: 29 March to 24 October is 210 days, 28 March to 30 October 217, and so on.
    expect(offsets.filter((offset) => offset === 7200)).toHaveLength(210 + 217 + 217 + 217);
    expect(offsets.every((offset) => offset === 3600 || offset === 7200)).toBe(true);
  });
});
