import { describe, expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import { compileTimeFormat, formatElements } from "../../../src/mapping/time-format.ts";
import type { FormattedType } from "../../../src/mapping/time-format.ts";
import { column, outcome, readBack } from "../../support/convert.ts";

function read(text: string, type: FormattedType, format: string): string {
  const wire = outcome(JSON.stringify(text), column(type), { format });
  return /^[0-9a-f]+$/.test(wire) ? readBack(wire, "int64") : wire;
}

function micros(iso: string): string {
  return String(BigInt(Date.parse(iso)) * 1000n);
}

function days(iso: string): string {
  return String(Date.parse(iso) / 86_400_000);
}

const time = (hour: number, minute: number, second: number, micro = 0): string =>
  String(((BigInt(hour) * 64n + BigInt(minute)) * 64n + BigInt(second)) * 1_048_576n + BigInt(micro));

describe("format reads", () => {
  test.each([
    ["2018/08/19 12:11", "%Y/%m/%d %H:%M", micros("2018-08-19T12:11:00Z")],
    ["04/Mar/2024:05:06:07 +0130", "%d/%b/%Y:%H:%M:%S %z", micros("2024-03-04T05:06:07+01:30")],
    ["Mon, 04 Mar 2024 05:06:07 GMT", "%a, %d %b %Y %H:%M:%S %Z", micros("2024-03-04T05:06:07Z")],
    ["Monday, march 4 2024 5:6:7 PM", "%A, %B %e %Y %I:%M:%S %p", micros("2024-03-04T17:06:07Z")],
    ["20240304T050607Z", "%Y%m%dT%H%M%SZ", micros("2024-03-04T05:06:07Z")],
    ["20240304", "%Y%m%d", micros("2024-03-04")],
    ["2024-03-04 05:06:07.25-08:00", "%F %H:%M:%E*S%Ez", micros("2024-03-04T05:06:07.250-08:00")],
    ["2024-03-04 05:06:07Z", "%F %T%Ez", micros("2024-03-04T05:06:07Z")],
    ["3/4/68 5:06", "%D %R", micros("2068-03-04T05:06:00Z")],
    ["03/04/69 05:06", "%D %R", micros("1969-03-04T05:06:00Z")],
    ["2024-07-04 05:06 America/New_York", "%F %R %Z", micros("2024-07-04T05:06:00-04:00")],
    ["1709528767", "%s", micros("2024-03-04T05:06:07Z")],
    ["-1", "%s", "-1000000"],
    ["100% 2024-03-04", "100%% %F", micros("2024-03-04")],
    ["größer 2024-03-04 ß", "größer %F ß", micros("2024-03-04")],
    ["2016-12-31 23:59:60", "%F %T", micros("2017-01-01T00:00:00Z")],
    ["12 AM 2024-03-04", "%I %p %F", micros("2024-03-04T00:00:00Z")],
    ["12 pm 2024-03-04", "%I %p %F", micros("2024-03-04T12:00:00Z")],
  ])("a TIMESTAMP: %j by %j", (text, format, expected) => expect(read(text, "TIMESTAMP", format)).toBe(expected));

  test.each([
    ["DATE", "4.3.2024", "%d.%m.%Y", days("2024-03-04")],
    ["DATE", " 4 Mar 24", "%e %h %y", days("2024-03-04")],
    ["DATE", "14 Mar 24", "%e %b %y", days("2024-03-14")],
    ["TIME", "05h06", "%Hh%M", time(5, 6, 0)],
    ["TIME", "050607", "%H%M%S", time(5, 6, 7)],
    ["TIME", "050607.25", "%H%M%E*S", time(5, 6, 7, 250_000)],
    ["DATE", "202403 4", "%Y%m%e", days("2024-03-04")],
    ["TIME", "11.06.07,5 pm", "%I.%M.%S,5 %p", time(23, 6, 7)],
    ["TIME", "05:06:07.123", "%H:%M:%E3S", time(5, 6, 7, 123_000)],
    ["TIME", "05:06:07", "%H:%M:%E3S", time(5, 6, 7)],
  ] as const)("a %s: %j by %j", (type, text, format, expected) => expect(read(text, type, format)).toBe(expected));
});

describe("format refuses text", () => {
  test.each([
    ["2024-03-04T05:06:07Z", "TIMESTAMP", "%F %T"],
    ["2024-03-04 05:06", "TIMESTAMP", "%F %T"],
    ["2024-03-04 05:06:07 ", "TIMESTAMP", "%F %T"],
    ["2024-02-30", "DATE", "%F"],
    ["0000-01-01", "DATE", "%F"],
    ["2024-13-01", "DATE", "%F"],
    ["Tue 2024-03-04", "DATE", "%a %F"],
    ["Mxn 2024-03-04", "DATE", "%a %F"],
    ["24:00", "TIME", "%R"],
    ["05:06:60", "TIME", "%T"],
    ["13 PM", "TIME", "%I %p"],
    ["0 AM", "TIME", "%I %p"],
    ["5 XM", "TIME", "%I %p"],
    ["2024113", "DATE", "%Y%m%d"],
    ["2024034", "DATE", "%Y%m%e"],
    ["05067", "TIME", "%H%M%E*S"],
    ["05:06:07.1234", "TIME", "%H:%M:%E3S"],
    ["05:06:07.", "TIME", "%H:%M:%E*S"],
    ["  4 Mar 24", "DATE", "%e %b %y"],
    [" 14 Mar 24", "DATE", "%e %b %y"],
    ["2024-03-04 +1401", "TIMESTAMP", "%F %z"],
    ["2024-03-04 +01:00", "TIMESTAMP", "%F %z"],
    ["2024-03-04 0100", "TIMESTAMP", "%F %z"],
    ["2024-03-04 +0100", "TIMESTAMP", "%F %Ez"],
    ["2024-03-04 EST", "TIMESTAMP", "%F %Z"],
    ["1709528767000000", "TIMESTAMP", "%F"],
    ["1709528767000000", "TIMESTAMP", "%s"],
    ["", "TIMESTAMP", "%s"],
  ] as const)("%j of %s by %j", (text, type, format) => expect(read(text, type, format)).toBe("TYPE_MISMATCH"));

  test("that is finer than the column, or beyond it", () => {
    expect(read("05:06:07.1234567", "TIME", "%H:%M:%E*S")).toBe("PRECISION_LOSS");
    expect(read("999999999999", "TIMESTAMP", "%s")).toBe("OUT_OF_RANGE");
    expect(read("-999999999999", "TIMESTAMP", "%s")).toBe("OUT_OF_RANGE");
  });

  test("but a number is read as without a format", () => {
    const wire = outcome("5", column("TIMESTAMP"), { format: "%F" });
    expect(readBack(wire, "int64")).toBe("5");
  });

  test("and a TIMESTAMP(12) of more than nine digits comes out in UTC", () => {
    const twelve = column("TIMESTAMP", { timestampPrecision: 12 });
    const wire = outcome('"05:06:07.123456789012 4.3.2024"', twelve, { format: "%H:%M:%E*S %d.%m.%Y" });
    expect(readBack(wire, "string")).toBe("2024-03-04T05:06:07.123456789012+00:00");
  });
});

describe("a bad format is a fault of the set-up", () => {
  test.each([
    ["DATE", "", ["it lacks the year", "it lacks the month", "it lacks the day"]],
    ["DATE", "%Y-%m", ["it lacks the day"]],
    ["DATE", "%Y-%m-%d %Q", ['"%Q" is no element']],
    ["DATE", "%F %", ['"%" is no element']],
    ["DATE", "%F %H", ["DATE has no hour"]],
    ["TIME", "%F %H", ["TIME has no year", "TIME has no month", "TIME has no day"]],
    ["TIME", "%M", ["it lacks the hour", "it reads minutes without hours"]],
    ["TIME", "%H %S", ["it reads seconds without minutes"]],
    ["TIME", "%I", ["%I and %p belong together"]],
    ["TIME", "%H %p", ["%I and %p belong together"]],
    ["DATETIME", "%F %Ez", ["DATETIME has no zone"]],
    ["DATETIME", "%s", ["DATETIME has no seconds since the epoch"]],
    ["TIMESTAMP", "%F %Y", ["it reads the year twice"]],
    ["TIMESTAMP", "%s %z", ["%s cannot stand with other elements"]],
    ["TIME", "%H:%M:%E*S5", ["an element of any length stands directly before a digit"]],
  ] as const)("%s %j", (type, format, faults) => {
    let message = "";
    try {
      compileTimeFormat(format, type);
    } catch (error) {
      message = error instanceof SetupError ? error.message : "";
    }
    expect(message).toBe(`The format "${format}" cannot read ${type}: ${faults.join("; ")}`);
  });
});

test.each(formatElements.flatMap(([elements]) => elements.split(" ")))(
  "%s of the documented elements is one",
  (element) => {
    const fault = (format: string): string => {
      try {
        compileTimeFormat(format, "TIMESTAMP");
        return "";
      } catch (error) {
        return String(error);
      }
    };
    expect(fault("%Q")).toContain("is no element");
    expect(fault(element)).not.toContain("is no element");
  },
);
