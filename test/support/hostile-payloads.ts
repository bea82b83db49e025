/** Payloads that nobody means well with: valid documents with something broken, and garbage that looks like JSON. */
import { chance, pick, times } from "./random-choices.ts";
import type { Choose } from "./random-choices.ts";

const maxBytes = 4096;

/** Bytes that matter to a JSON reader, or to a decoder of UTF-8. */
const bytesOfInterest = Array.from(
  Buffer.from(
    '{}[]:,"\\/-+.0123456789eEtfnu \t\n\r\0\x1f\x7f\x80\xbf\xc0\xc3\xe2\xed\xa0\xef\xf0\xf4\xf8\xff',
    "latin1",
  ),
);

const digitBytes = Array.from(Buffer.from("0123456789"));
const letterBytes = Array.from(Buffer.from("aAeEfnstTzZ+"));

const tokens = [
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  '"',
  "null",
  "true",
  "false",
  "nul",
  "TRUE",
  "0",
  "-0",
  "-",
  "01",
  "1.",
  ".5",
  "+1",
  "1e",
  "1e+",
  "1E400",
  "NaN",
  "Infinity",
  "12345678901234567890123456789",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\udc00\\ud800"',
  '"\\u12"',
  '"\\x"',
  '"\t"',
  '"é名😀"',
  '"a":',
  '{"a":1,"a":2}',
  '{"":{}}',
  "//",
  "/**/",
  " ",
  "\n",
  "\ufeff",
];

/** A valid document with one to four things done to it. */
export function mutated(choose: Choose, document: Buffer): Buffer {
  let bytes = document;
  for (let count = choose(1, 4); count > 0; count--) bytes = pick(choose, mutations)(choose, bytes);
  return bytes.subarray(0, maxBytes);
}

type Mutation = (choose: Choose, bytes: Buffer) => Buffer;

const mutations: readonly Mutation[] = [
  flip,
  overwrite,
  cut,
  remove,
  insert,
  swap,
  repeat,
  nest,
  splice,
  ...times(9, () => respell),
];

/** A digit or letter becomes another one: mostly still JSON, with another value. */
function respell(choose: Choose, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (let tries = 0; tries < 10 && changed.length > 0; tries++) {
    const at = choose(0, changed.length - 1);
    const character = String.fromCharCode(changed[at]!);
    if (!/[0-9A-Za-z]/.test(character)) continue;
    changed[at] = pick(choose, /\d/.test(character) ? digitBytes : letterBytes);
    break;
  }
  return changed;
}

/** One bit changes. */
function flip(choose: Choose, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  if (changed.length > 0) changed[choose(0, changed.length - 1)]! ^= 1 << choose(0, 7);
  return changed;
}

function overwrite(choose: Choose, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  if (changed.length > 0) changed[choose(0, changed.length - 1)] = pick(choose, bytesOfInterest);
  return changed;
}

function cut(choose: Choose, bytes: Buffer): Buffer {
  return bytes.subarray(0, choose(0, bytes.length));
}

function remove(choose: Choose, bytes: Buffer): Buffer {
  const [start, end] = part(choose, bytes);
  return Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]);
}

function insert(choose: Choose, bytes: Buffer): Buffer {
  const at = choose(0, bytes.length);
  const inserted = chance(choose, 50)
    ? Buffer.from(pick(choose, tokens))
    : Buffer.from([pick(choose, bytesOfInterest)]);
  return Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]);
}

function swap(choose: Choose, bytes: Buffer): Buffer {
  const [start, end] = part(choose, bytes);
  const middle = choose(start, end);
  return Buffer.concat([
    bytes.subarray(0, start),
    bytes.subarray(middle, end),
    bytes.subarray(start, middle),
    bytes.subarray(end),
  ]);
}

function repeat(choose: Choose, bytes: Buffer): Buffer {
  const [start, end] = part(choose, bytes);
  const copies = times(choose(1, 20), () => bytes.subarray(start, end));
  return Buffer.concat([bytes.subarray(0, end), ...copies, bytes.subarray(end)]).subarray(0, maxBytes);
}

/** Many levels around a part: closed again, or not. */
function nest(choose: Choose, bytes: Buffer): Buffer {
  const [start, end] = part(choose, bytes);
  const levels = chance(choose, 70) ? choose(1, 40) : choose(400, 1100);
  const [open, close] = pick(choose, [
    ["[", "]"],
    ['{"k":', "}"],
  ] as const);
  const closing = close.repeat(chance(choose, 80) ? levels : choose(0, levels));
  return Buffer.concat([
    bytes.subarray(0, start),
    Buffer.from(open.repeat(levels)),
    bytes.subarray(start, end),
    Buffer.from(closing),
    bytes.subarray(end),
  ]);
}

/** The document goes on as it was before: `{"a":1,"b` → `{"a":1,"a":1,"b`. */
function splice(choose: Choose, bytes: Buffer): Buffer {
  const [start, end] = part(choose, bytes);
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]);
}

/** A part of the bytes, mostly a short one. */
function part(choose: Choose, bytes: Buffer): readonly [start: number, end: number] {
  const start = choose(0, bytes.length);
  const length = chance(choose, 80) ? choose(0, 12) : choose(0, bytes.length);
  return [start, Math.min(bytes.length, start + length)];
}

/** Tokens in no order, the beginning of a document without sense, or bytes from nowhere; `keys` are the table's. */
export function garbage(choose: Choose, keys: readonly string[]): Buffer {
  const form = choose(0, 9);
  if (form === 0) return Buffer.from(times(choose(0, 200), () => choose(0, 255)));
  if (form === 1) return Buffer.from(times(choose(0, 400), () => pick(choose, bytesOfInterest)));
  const words = form < 5 ? tokenSoup(choose) : nearlyJson(choose, keys);
  return Buffer.from(words.join("")).subarray(0, maxBytes);
}

function tokenSoup(choose: Choose): string[] {
  return times(choose(0, chance(choose, 90) ? 20 : 1000), () => pick(choose, tokens));
}

/** An object of the table's keys, each with a token for a value; now and then a comma, colon or brace is wrong. */
function nearlyJson(choose: Choose, keys: readonly string[]): string[] {
  const slip = (right: string): string => (chance(choose, 3) ? pick(choose, tokens) : right);
  const members = times(choose(0, 12), (i) => [
    i === 0 ? "" : slip(","),
    slip(JSON.stringify(pick(choose, keys))),
    slip(":"),
    pick(choose, [...tokens, "1", '"x"', "[1,2]", "{}", '{"start":1}', "[]", "[null]"]),
  ]);
  return [slip("{"), ...members.flat(), slip("}")];
}
