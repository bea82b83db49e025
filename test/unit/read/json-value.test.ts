import { describe, expect, test } from "vitest";
import { JsonReader } from "../../../src/read/json-reader.ts";
import { JsonValueScan } from "../../../src/read/json-value.ts";
import { PayloadFault } from "../../../src/read/payload-fault.ts";

/** Reads `text` as one whole value; undefined when it is none. */
function lengthOf(text: string, outerDepth = 0): number | undefined {
  const bytes = Buffer.from(`${text}]}"1`);
  const reader = new JsonReader();
  reader.open(bytes, bytes.length - 4);
  try {
    const end = new JsonValueScan(reader).scan(0, outerDepth);
    reader.finish(end);
    return end;
  } catch (error) {
    if (error instanceof PayloadFault && error.code === "MALFORMED_PAYLOAD") return undefined;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test("a text is a value exactly when JSON.parse says so: every row of up to five tokens", () => {
  const tokens = ["{", "}", "[", "]", ",", ":", '"a"', "1", "null", " "];
  const disagreed: string[] = [];
  let texts = [""];
  for (let length = 1; length <= 5; length++) {
    texts = texts.flatMap((text) => tokens.map((token) => text + token));
    // Blanks in front are the caller's.
    const candidates = texts.filter((text) => !text.startsWith(" "));
    disagreed.push(...candidates.filter((text) => (lengthOf(text) !== undefined) !== isJson(text)));
  }
  expect(disagreed).toEqual([]);
});

describe("depth", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

  test("a thousand levels are read, one more is not", () => {
    expect(lengthOf(nested(1000))).toBe(2000);
    expect(lengthOf(nested(1001))).toBeUndefined();
    expect(lengthOf(nested(997), 3)).toBe(1994);
    expect(lengthOf(nested(998), 3)).toBeUndefined();
  });

  test("without a limit the levels are only a matter of memory", () => {
    const levels = 100_000;
    const bytes = Buffer.from(nested(levels));
    const reader = new JsonReader();
    reader.open(bytes, bytes.length);
    expect(new JsonValueScan(reader, undefined, Infinity).scan(0, 0)).toBe(levels * 2);
  });
});

test("rules are told of every level, object, key and number", () => {
  const text = '{"a":[1,{"b":-2.5}],"c":"3"}';
  const bytes = Buffer.from(text);
  const reader = new JsonReader();
  reader.open(bytes, bytes.length);
  const told: string[] = [];
  let objects = 0;
  const scan = new JsonValueScan(reader, {
    checkDepth: (depth, at) => told.push(`level ${depth} at ${at}`),
    beginObject: () => ++objects,
    checkKey: (object, start, close) => told.push(`key ${text.slice(start, close)} of ${object}`),
    checkNumber: (start, end) => told.push(`number ${text.slice(start, end)}`),
  });
  scan.scan(0, 0);
  expect(told.join("; ")).toBe(
    "level 1 at 0; key a of 1; level 2 at 5; number 1; level 3 at 8; key b of 2; number -2.5; key c of 1",
  );
});
