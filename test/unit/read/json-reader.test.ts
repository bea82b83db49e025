import { describe, expect, test } from "vitest";
import { JsonReader } from "../../../src/read/json-reader.ts";
import { hashOf } from "../../../src/read/key-hash.ts";
import { PayloadFault } from "../../../src/read/payload-fault.ts";

/** A reader over `text`, which lies between bytes that would be misleading if they were read. */
function over(text: string | Buffer): { readonly reader: JsonReader; readonly start: number } {
  const bytes = Buffer.concat([Buffer.from('\\"'), Buffer.from(text), Buffer.from('"1":e')]);
  const reader = new JsonReader();
  reader.open(bytes, bytes.length - 5);
  return { reader, start: 2 };
}

/** Offset of the fault within the text. */
function faultAt(run: () => unknown): number {
  try {
    run();
  } catch (error) {
    if (error instanceof PayloadFault && error.code === "MALFORMED_PAYLOAD") return error.offset - 2;
    throw error;
  }
  throw new Error("no fault");
}

describe("texts", () => {
  test.each([0, 1, 3, 4, 7, 63, 64, 65, 200])("%d characters end at their quote", (length) => {
    const { reader, start } = over(`${"é".repeat(length)}" `);
    expect(reader.scanText(start)).toBe(start + length * 2);
    expect(reader.escaped).toBe(false);
  });

  test("an escaped quote does not end a text, and the escape is noticed", () => {
    const { reader, start } = over(String.raw`a\"b\\"x`);
    expect(reader.scanText(start)).toBe(start + 6);
    expect(reader.escaped).toBe(true);
    reader.resolve(start, start + 6);
    expect(reader.scratch.toString("utf8", 0, 4)).toBe('a"b\\');
  });

  test.each([
    ["without a quote", "abc", 3],
    ["long, without a quote", "x".repeat(99), 99],
    ["with an escape at the end", "ab\\", 3],
    ["with a control character", 'ab\u0001c"', 2],
    ["with a line break, far in", `${"x".repeat(70)}\n"`, 70],
  ])("%s", (_, text, offset) => {
    const { reader, start } = over(text);
    expect(faultAt(() => reader.scanText(start))).toBe(offset);
  });

  test.each(["ff", "c0af", "eda080", "f4908080", "e28"])("bytes %s are no UTF-8", (hex) => {
    for (const filling of ["", "x".repeat(80)]) {
      const { reader, start } = over(Buffer.concat([Buffer.from(filling), Buffer.from(hex, "hex"), Buffer.from('"')]));
      expect(faultAt(() => reader.scanText(start))).toBe(0);
      expect(faultAt(() => reader.scanKey(start))).toBe(0);
    }
  });
});

describe("keys", () => {
  test.each(["", "a", "abc", "abcd", "device_id", "é", "日本語の列", "x".repeat(100)])(
    "%j has the hash of its bytes",
    (key) => {
      const bytes = Buffer.from(key);
      const { reader, start } = over(`${key}": 1}`);
      expect(reader.scanKey(start)).toBe(start + bytes.length);
      expect(reader.hash).toBe(hashOf(bytes, 0, bytes.length));
      expect(reader.keyLength).toBe(bytes.length);
    },
  );

  test("a key has the same hash near the end of the payload, and spelled with escapes", () => {
    const expected = hashOf(Buffer.from("name"), 0, 4);
    for (const text of ['name"', String.raw`n\u0061me"`, String.raw`\u006e\u0061\u006d\u0065": 1}`]) {
      const { reader, start } = over(text);
      reader.scanKey(start);
      expect(reader.hash).toBe(expected);
      expect(reader.keyLength).toBe(4);
    }
  });

  test("half a surrogate pair in a key is refused", () => {
    const { reader, start } = over(String.raw`\ud800": 1}`);
    expect(faultAt(() => reader.scanKey(start))).toBe(0);
  });
});

/** Reads the word or number that begins `text`. */
function scanToken(text: string): { readonly end: number; readonly length: number } {
  const { reader, start } = over(text);
  const first = text[0]!;
  if (first === "n") return { end: reader.scanNull(start), length: start + text.length };
  const isWord = /[a-z]/i.test(first);
  return { end: isWord ? reader.scanBoolean(start) : reader.scanNumber(start), length: start + text.length };
}

describe("words and numbers", () => {
  test.each(["true", "false", "null", "0", "-12.5e+3", "123456789012345678901234567890"])(
    "%s is read to its end",
    (text) => {
      const { end, length } = scanToken(text);
      expect(end).toBe(length);
    },
  );

  test.each(["tru", "fals", "nul", "True", "nulL", "falsy"])("%s is no word", (text) => {
    expect(faultAt(() => scanToken(text))).toBe(0);
  });

  test("what stands behind the end is not read, though it would fit", () => {
    const bytes = Buffer.from("truetrue1234");
    const reader = new JsonReader();
    reader.open(bytes, 3);
    expect(() => reader.scanBoolean(0)).toThrow(PayloadFault);
    reader.end = 9;
    expect(reader.scanNumber(8)).toBe(9);
    expect(reader.peek(9)).toBe(0);
    expect(reader.skipBlanks(9)).toBe(9);
  });

  test("a fault says where, and never what", () => {
    const { reader, start } = over("secret");
    expect(() => reader.finish(start)).toThrow(
      "not JSON: expected nothing behind the value, but found another character",
    );
  });
});
