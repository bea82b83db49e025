/**
 * A short cut must give what the conversion gives. The long way is taken by another spelling of the same value: an escape in a text, blanks
 * do not count, an exponent of zero behind a number.
 */
import { isDeepStrictEqual } from "node:util";
import { describe, expect, test } from "vitest";
import { choicesOf, pick, times, type Choose } from "../../support/random-choices.ts";
import { mapped } from "../../support/mapped.ts";

const seed = Number(process.env["PROPERTY_SEED"] ?? Date.now() % 2 ** 31);

/** The same text with its first character escaped. */
function escaped(text: string): string {
  if (text === "") return '""';
  const first = String.fromCodePoint(text.codePointAt(0)!);
  const escapes = times(first.length, (i) => `\\u${first.charCodeAt(i).toString(16).padStart(4, "0")}`);
  return `"${escapes.join("")}${text.slice(first.length)}"`;
}

/** The values for which two spellings do not lead to the same row or refusal. */
function differences(type: string, spellings: readonly (readonly [plain: string, long: string])[]): readonly object[] {
  const fields = [{ name: "v", type }];
  // Something follows the value, since a short cut needs room to look ahead.
  const payloads = (spelling: 0 | 1): string[] => spellings.map((pair) => `{"v":${pair[spelling]},"other":0}`);
  const plain = mapped(fields, payloads(0), { dropUnknownFields: true });
  const long = mapped(fields, payloads(1), { dropUnknownFields: true });
  return spellings
    .map(([value], i) => ({ type, value, plain: plain[i], long: long[i], seed }))
    .filter((result) => !isDeepStrictEqual(result.plain, result.long));
}

const texts = (values: readonly string[]): [string, string][] => values.map((value) => [`"${value}"`, escaped(value)]);

/** Text near to a form: now and then a character of it is another. */
function nearly(choose: Choose, text: string): string {
  if (choose(0, 3) > 0) return text;
  const at = choose(0, text.length - 1);
  return (
    text.slice(0, at) + pick(choose, ["0", "9", "/", ":", "-", ".", "T", " ", "Z", "z", "", "00"]) + text.slice(at + 1)
  );
}

function randomTimestamp(choose: Choose): string {
  const two = (max: number): string => String(choose(0, max)).padStart(2, "0");
  const year = pick(choose, ["0001", "1699", "1700", "1969", "1970", "2000", "2024", "2100", "2250", "2251", "9999"]);
  const fraction = pick(choose, ["", ".1", ".123", ".1234", ".000001", ".999999", ".1234567"]);
  return `${year}-${two(13)}-${two(32)}T${two(24)}:${two(60)}:${two(60)}${fraction}`;
}

describe("a value takes a short cut or the long way, with the same result", () => {
  test("dates and times", () => {
    const choose = choicesOf(seed);
    const stamps = times(1000, () => randomTimestamp(choose));
    expect(differences("TIMESTAMP", texts(stamps.map((stamp) => nearly(choose, `${stamp}Z`))))).toEqual([]);
    expect(differences("DATETIME", texts(stamps.map((stamp) => nearly(choose, stamp))))).toEqual([]);
    expect(differences("DATE", texts(stamps.map((stamp) => nearly(choose, stamp.slice(0, 10)))))).toEqual([]);
  });

  test("the days around the ends of months in every year from 1690 to 2260", () => {
    const years = times(571, (i) => 1690 + i);
    const days = years.flatMap((year) => times(36, (i) => Date.UTC(year, Math.floor(i / 3), (i % 3) - 1)));
    const payloads = days.map((day) => `{"v":"${new Date(day).toISOString().slice(0, 10)}","w":0}`);
    const rows = mapped([{ name: "v", type: "DATE" }], payloads, { dropUnknownFields: true });
    expect(rows.map(({ row }) => row)).toEqual(days.map((day) => ({ f1: day / 86_400_000 })));
  });

  test("numbers", () => {
    const choose = choicesOf(seed + 1);
    const digits = (count: number): string => times(count, () => String(choose(0, 9))).join("");
    const numbers = times(1000, () => {
      const integer = pick(choose, [
        "0",
        "-0",
        "7",
        `${choose(1, 9)}${digits(choose(0, 17))}`,
        `-${choose(1, 9)}${digits(choose(0, 9))}`,
      ]);
      return integer + pick(choose, ["", "", `.${digits(choose(1, 10))}`, ".0"]);
    });
    const withExponents = numbers.map((number): [string, string] => [number, `${number}e0`]);
    for (const type of ["INT64", "FLOAT64", "NUMERIC"]) expect(differences(type, withExponents)).toEqual([]);
    expect(differences("NUMERIC", texts(numbers))).toEqual([]);
    expect(differences("NUMERIC", texts(numbers.map((number) => nearly(choose, number))))).toEqual([]);
  });

  test("texts of every length, with characters of every width", () => {
    const lengths = times(140, (length) => "x".repeat(length + 1));
    const wide = lengths.flatMap((text) => [`${text}é`, `${text.slice(1)}日本`, `😀${text}`, `${text}😀`]);
    expect(differences("STRING", texts([...lengths, ...wide]))).toEqual([]);
  });
});

test("the last value of a payload is not read beyond its end, though the next payload would complete it", () => {
  const wholes: readonly (readonly [string, string])[] = [
    ["INT64", "12345"],
    ["FLOAT64", "1.25"],
    ["BOOL", "true"],
    ["DATE", '"2024-02-29"'],
    ["TIMESTAMP", '"2024-02-29T01:02:03.004005Z"'],
    ["DATETIME", '"2024-02-29T01:02:03.004"'],
    ["NUMERIC", '"1.5"'],
    ["STRING", '"text of some length"'],
  ];
  for (const [type, value] of wholes) {
    const whole = `{"v":${value}}`;
    for (let cut = 0; cut < whole.length; cut++) {
      const results = mapped([{ name: "v", type }], [whole.slice(0, cut), whole.slice(cut), whole]);
      expect(results[0], `${type} cut at ${cut}`).toEqual({ refused: "MALFORMED_PAYLOAD " });
      expect(Object.keys(results[2]!)).toEqual(["row"]);
    }
  }
});
