import { expect, test } from "vitest";
import { readDecimalId } from "../../../src/dedupe/decimal-id.ts";

/** The number that was read, put together again. */
function read(id: string): bigint | undefined {
  const words = new Uint32Array(2);
  if (!readDecimalId(id, words)) return undefined;
  return (BigInt(words[1]!) << 32n) | BigInt(words[0]!);
}

test.each([
  "0",
  "7",
  "4294967295",
  "4294967296",
  "999999",
  "1000000",
  "9007199254740993",
  "12345678901234567",
  "9999999999999999999",
  "18446744073709551615",
])("%s is read to the last bit", (id) => {
  expect(read(id)).toBe(BigInt(id));
});

test.each([
  "18446744073709551616",
  "99999999999999999999",
  "100000000000000000000",
  "",
  "007",
  "00",
  "-1",
  "1.5",
  "12a",
  "١",
])("%o is no such number", (id) => {
  expect(read(id)).toBeUndefined();
});

test("random numbers of every length are what BigInt reads", () => {
  let state = 12_345n;
  for (let k = 0; k < 20_000; k++) {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn;
    const id = String(state >> BigInt(k % 64));
    expect(read(id)).toBe(BigInt(id));
  }
});
