/** JSON text in every spelling that means the same, and random values. */
import { chance, digits, pick, times } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";

const characters = [
  "a",
  "Z",
  "7",
  " ",
  "é",
  "ß",
  "名",
  "😀",
  "👩‍👩",
  '"',
  "\\",
  "/",
  "\n",
  "\t",
  "\u0000",
  "\u001f",
  "\u007f",
  "\u2028",
  "\ufeff",
  "\ud7ff",
  "\uffff",
];

export function randomText(choose: Choose, length: number): string {
  return times(length, () => pick(choose, characters)).join("");
}

/** A JSON string of a text: plain, or with some characters escaped that need not be. */
export function quoted(choose: Choose, text: string): string {
  const plain = JSON.stringify(text);
  if (!chance(choose, 15)) return plain;
  const body = Array.from(text, (character) =>
    chance(choose, 30) ? escaped(choose, character) : JSON.stringify(character).slice(1, -1),
  );
  return `"${body.join("")}"`;
}

/** A JSON string longer than any buffer that a reader begins with. */
export function longQuoted(choose: Choose): string {
  const body = quoted(choose, randomText(choose, choose(1, 20))).slice(1, -1);
  return `"${body.repeat(choose(1, 150))}"`;
}

function escaped(choose: Choose, character: string): string {
  if (character === "/") return "\\/";
  return times(character.length, (i) => {
    const hex = character.charCodeAt(i).toString(16).padStart(4, "0");
    return `\\u${chance(choose, 50) ? hex.toUpperCase() : hex}`;
  }).join("");
}

/** Blanks where JSON allows them; mostly none. */
export function blanks(choose: Choose): string {
  return chance(choose, 10) ? times(choose(1, 3), () => pick(choose, [" ", "\n", "\t", "\r"])).join("") : "";
}

const numbers = [
  "0",
  "-0",
  "1.5",
  "-1e-7",
  "0.1",
  "1E+2",
  "18446744073709551615",
  "18446744073709551616",
  "-9223372036854775808",
  "-9223372036854775809",
  "1.7976931348623157e308",
  "1.7976931348623159e308",
  "1e400",
  "5e-324",
  "1e-400",
  "0.10000000000000000001",
  "0.30000000000000004",
  "9007199254740993",
  "9007199254740993.0",
  "100e-2",
  "123456789.123456789",
];

export function randomNumber(choose: Choose): string {
  if (chance(choose, 50)) return pick(choose, numbers);
  const integer = chance(choose, 30) ? "0" : String(choose(1, 9)) + digits(choose, choose(0, 18));
  const fraction = chance(choose, 40) ? `.${digits(choose, choose(1, 18))}` : "";
  const exponent = chance(choose, 20) ? `${pick(choose, ["e", "E", "e+", "e-", "E-"])}${choose(0, 30)}` : "";
  return `${chance(choose, 30) ? "-" : ""}${integer}${fraction}${exponent}`;
}

/** Any JSON value, as text; `odd` allows what JSON columns refuse: keys that come twice and numbers that change. */
export function randomJson(choose: Choose, depth: number, odd: boolean): string {
  const kind = choose(0, depth > 0 ? 7 : 4);
  if (kind <= 1) return odd ? randomNumber(choose) : String(choose(-1_000_000, 1_000_000) / 8);
  if (kind === 2) return chance(choose, 3) ? longQuoted(choose) : quoted(choose, randomText(choose, choose(0, 6)));
  if (kind <= 4) return pick(choose, ["true", "false", "null"]);
  if (kind === 5) return randomArray(choose, () => randomJson(choose, depth - 1, odd));
  return randomObject(choose, depth, odd);
}

/** An array of up to four elements. */
export function randomArray(choose: Choose, element: () => string): string {
  const elements = times(choose(0, 4), () => blanks(choose) + element() + blanks(choose));
  return `[${elements.join(",") || blanks(choose)}]`;
}

function randomObject(choose: Choose, depth: number, odd: boolean): string {
  const names = times(choose(0, 4), (i) => (odd && chance(choose, 10) ? "k0" : `${pick(choose, ["k", "", "é"])}${i}`));
  return objectText(
    choose,
    names.map((name) => ({ name, value: randomJson(choose, depth - 1, odd) })),
  );
}

/** An object of members whose values are JSON text already. */
export function objectText(choose: Choose, members: readonly { name: string; value: string }[]): string {
  const texts = members.map(
    ({ name, value }) =>
      `${blanks(choose)}${quoted(choose, name)}${blanks(choose)}:${blanks(choose)}${value}${blanks(choose)}`,
  );
  return `{${texts.join(",") || blanks(choose)}}`;
}
