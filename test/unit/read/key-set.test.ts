import { describe, expect, test } from "vitest";
import { JsonReader } from "../../../src/read/json-reader.ts";
import { KeySet } from "../../../src/read/key-set.ts";

/** Adds keys, as sources of JSON texts, to objects; answers whether each was new. */
function addAll(sources: readonly string[], objectOf: (i: number) => number, hash?: number): boolean[] {
  const reader = new JsonReader();
  const bytes = Buffer.from(sources.map((source) => `${source}"`).join(""));
  reader.open(bytes, bytes.length);
  const keys = new KeySet(reader);
  keys.clear();
  const objects = Array.from({ length: 1 + Math.max(...sources.map((_, i) => objectOf(i))) }, () => keys.beginObject());
  let at = 0;
  return sources.map((_, i) => {
    const close = reader.scanKey(at);
    if (hash !== undefined) reader.hash = hash;
    const added = keys.add(objects[objectOf(i)]!, at, close);
    at = close + 1;
    return added;
  });
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `key${i}`);

describe("keys of objects", () => {
  test("a key is new once in each object", () => {
    const sources = ["a", "b", "a", "a", "b", "c"];
    expect(addAll(sources, (i) => (i < 3 ? 0 : 1))).toEqual([true, true, false, true, true, true]);
  });

  test("two spellings of a key are the same key", () => {
    const sources = ["ab", String.raw`\u0061b`, String.raw`a\u0062`, "é", String.raw`\u00e9`, "abc"];
    expect(addAll(sources, () => 0)).toEqual([true, false, false, true, false, true]);
  });

  test("the table grows and loses nothing", () => {
    const sources = [...numbered(5000), ...numbered(5000)];
    const expected = sources.map((_, i) => i < 5000);
    expect(addAll(sources, () => 0)).toEqual(expected);
  });

  test("keys that collide cost no exactness and little time", () => {
    const sources = [...numbered(3000), String.raw`\u006bey7`, ...numbered(3000)];
    const start = performance.now();
    expect(addAll(sources, () => 0, 12_345)).toEqual(sources.map((_, i) => i < 3000));
    expect(performance.now() - start).toBeLessThan(2000);
  });

  test("a new payload begins without the keys of the one before", () => {
    const reader = new JsonReader();
    const bytes = Buffer.from('a"a"');
    reader.open(bytes, bytes.length);
    const keys = new KeySet(reader);
    for (let payload = 0; payload < 10_000; payload++) {
      keys.clear();
      const object = keys.beginObject();
      reader.scanKey(0);
      expect(keys.add(object, 0, 1)).toBe(true);
      reader.scanKey(2);
      expect(keys.add(object, 2, 3)).toBe(false);
    }
  });
});
