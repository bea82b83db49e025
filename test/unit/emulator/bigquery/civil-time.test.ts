import { describe, expect, test } from "vitest";
import { InvalidValue } from "../../../../src/emulator/bigquery/cell.ts";
import {
  checkedDay,
  checkedTimestamp,
  parseDate,
  parseDatetime,
  parseTime,
  parseTimestamp,
  parseTimestampPicos,
  textOfDate,
  textOfDatetime,
  textOfTime,
  textOfTimestamp,
  textOfTimestampPicos,
  unpackDatetime,
  unpackTime,
} from "../../../../src/emulator/bigquery/civil-time.ts";

describe("packed forms", () => {
  test("the anchors of the official writer's tests", () => {
    expect(textOfDatetime(unpackDatetime(142258614586538368n))).toBe("2021-09-27T20:51:10.752000");
    expect(textOfDatetime(unpackDatetime(142258525253402624n))).toBe("2021-09-27T00:00:00.000000");
    expect(textOfTime(unpackTime(89332507144n))).toBe("20:51:10.123400");
  });

  test("the last values", () => {
    expect(textOfTime(unpackTime(102806536767n))).toBe("23:59:59.999999");
    expect(textOfDatetime(unpackDatetime(703674213004689983n))).toBe("9999-12-31T23:59:59.999999");
  });

  test.each([
    ["second 60", 60n << 20n],
    ["minute 60", 60n << 26n],
    ["hour 24", 24n << 32n],
    ["a million microseconds", 1_000_000n],
    ["a bit above the hour", 1n << 37n],
    ["a negative number", -1n],
  ])("TIME refuses %s", (_, packed) => {
    expect(() => unpackTime(packed)).toThrow(InvalidValue);
  });

  test.each([
    ["year 0", (1n << 42n) | (1n << 37n)],
    ["month 0", (2024n << 46n) | (1n << 37n)],
    ["month 13", (2024n << 46n) | (13n << 42n) | (1n << 37n)],
    ["day 0", (2024n << 46n) | (1n << 42n)],
    ["29 February of a common year", (2023n << 46n) | (2n << 42n) | (29n << 37n)],
    ["year 10000", (10_000n << 46n) | (1n << 42n) | (1n << 37n)],
    ["a bit above the year", 1n << 60n],
  ])("DATETIME refuses %s", (_, packed) => {
    expect(() => unpackDatetime(packed)).toThrow(InvalidValue);
  });
});

describe("ranges", () => {
  test("DATE and TIMESTAMP go from year 1 to 9999", () => {
    expect(textOfDate(checkedDay(-719162))).toBe("0001-01-01");
    expect(textOfDate(checkedDay(2932896))).toBe("9999-12-31");
    expect(() => checkedDay(-719163)).toThrow("out of range");
    expect(() => checkedDay(2932897)).toThrow("out of range");
    expect(textOfTimestamp(checkedTimestamp(-62135596800000000n))).toBe("0001-01-01T00:00:00.000000Z");
    expect(textOfTimestamp(checkedTimestamp(253402300799999999n))).toBe("9999-12-31T23:59:59.999999Z");
    expect(() => checkedTimestamp(-62135596800000001n)).toThrow("-62135596800000001");
    expect(() => checkedTimestamp(253402300800000000n)).toThrow("253402300800000000");
  });
});

describe("literals", () => {
  test("one-digit parts, and the three separators of date and time", () => {
    expect(textOfDate(parseDate("2024-2-9"))).toBe("2024-02-09");
    expect(textOfTime(parseTime("1:2:3.5"))).toBe("01:02:03.500000");
    for (const separator of [" ", "T", "t"]) {
      expect(textOfDatetime(parseDatetime(`2024-02-09${separator}1:2:3`))).toBe("2024-02-09T01:02:03.000000");
    }
    expect(textOfDatetime(parseDatetime("2024-02-09"))).toBe("2024-02-09T00:00:00.000000");
  });

  test.each(["2024-02-30", "2023-02-29", "0000-01-01", "2024-13-01", "24-01-01", "2024/01/01", ""])(
    "%j is no date",
    (text) => {
      expect(() => parseDate(text)).toThrow(InvalidValue);
    },
  );

  test.each(["24:00:00", "00:60:00", "00:00:60", "00:00", "00:00:00.1234567", ""])("%j is no time", (text) => {
    expect(() => parseTime(text)).toThrow(InvalidValue);
  });

  test.each([
    ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000000000Z"],
    ["2024-01-01T00:00:00.123456789012+00:00", "2024-01-01T00:00:00.123456789012Z"],
    ["2024-01-01 00:00:00-08:30", "2024-01-01T08:30:00.000000000000Z"],
    ["2024-01-01 00:00:00+2", "2023-12-31T22:00:00.000000000000Z"],
    ["2024-01-01 00:00:00.5 UTC", "2024-01-01T00:00:00.500000000000Z"],
    ["1969-12-31 23:59:59.999999999999", "1969-12-31T23:59:59.999999999999Z"],
    ["2024-01-01", "2024-01-01T00:00:00.000000000000Z"],
  ])("TIMESTAMP(12) %s is %s", (text, canonical) => {
    expect(textOfTimestampPicos(parseTimestampPicos(text))).toBe(canonical);
  });

  test("a TIMESTAMP has six digits, TIMESTAMP(12) twelve", () => {
    expect(parseTimestamp("2024-01-01T00:00:00.123456Z")).toBe(1704067200123456n);
    expect(() => parseTimestamp("2024-01-01T00:00:00.1234567Z")).toThrow("six fraction digits");
    expect(() => parseTimestampPicos("2024-01-01T00:00:00.1234567890123Z")).toThrow(InvalidValue);
    expect(() => parseTimestampPicos("2024-01-01T00:00:00+15:00")).toThrow("offset");
  });
});
