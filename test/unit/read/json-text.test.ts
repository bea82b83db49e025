import { assert, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { firstBadEscape, unescape } from "../../../src/read/json-text.ts";

function resolved(source: string): string | number {
  const bytes = Buffer.from(`\\q${source}\\q`);
  const end = bytes.length - 2;
  const out = Buffer.alloc(bytes.length + 3, 0x7e);
  const length = unescape(bytes, 2, end, out, 1);
  return length < 0 ? -1 - length - 2 : out.toString("utf8", 1, length);
}

describe("resolving escapes", () => {
  test.each([
    ["", ""],
    ["plain é 😀", "plain é 😀"],
    [String.raw`\"\\\/\b\f\n\r\t`, '"\\/\b\f\n\r\t'],
    [String.raw`\u0041\u00e9\u20AC`, "Aé€"],
    [String.raw`\ud83d\ude00`, "😀"],
    [String.raw`\uD800\uDC00\udbff\udfff`, "\u{10000}\u{10ffff}"],
    [String.raw`\u0000`, "\0"],
    [`${"x".repeat(100)}\\n${"y".repeat(100)}\\t`, `${"x".repeat(100)}\n${"y".repeat(100)}\t`],
  ])("%j", (source, expected) => {
    expect(resolved(source)).toBe(expected);
  });

  test.each([
    [String.raw`ab\x41`, 2],
    [String.raw`\u12`, 0],
    [String.raw`\u12g4`, 0],
    [String.raw`\ud800`, 0],
    [String.raw`\udc00`, 0],
    [String.raw`\ud800\u0041`, 0],
    [String.raw`ok\n\ud83d x`, 4],
    [String.raw`\ud800\ud800\udc00`, 0],
    ["tail\\", 4],
    [`${"x".repeat(70)}\\q`, 70],
  ])("%j is refused at its escape", (source, offset) => {
    expect(resolved(source)).toBe(offset);
    const bytes = Buffer.from(source);
    expect(firstBadEscape(bytes, 0, bytes.length)).toBe(offset);
  });

  test("any text, all of its characters escaped or none, is what JSON.parse makes of it", () => {
    const escapeAll = (text: string): string =>
      text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
    assert(
      property(string({ unit: "binary", maxLength: 60 }), (text) => {
        for (const source of [JSON.stringify(text).slice(1, -1), escapeAll(text)]) {
          expect(resolved(source)).toBe(JSON.parse(`"${source}"`));
          expect(firstBadEscape(Buffer.from(source), 0, Buffer.byteLength(source))).toBe(-1);
        }
      }),
    );
  });
});
