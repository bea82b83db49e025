import protobuf from "protobufjs";
import { expect, test } from "vitest";
import { InvalidValue } from "../../../../src/emulator/bigquery/cell.ts";
import { WireReader } from "../../../../src/emulator/bigquery/wire-reader.ts";
import { bytes } from "./writer.ts";

test.each([
  ["00", 0n],
  ["7f", 127n],
  ["8001", 128n],
  ["ffffffff0f", 2n ** 32n - 1n],
  ["8080808010", 2n ** 32n],
  ["ffffffffffffffff7f", 2n ** 63n - 1n],
  ["80808080808080808001", 2n ** 63n],
  ["ffffffffffffffffff01", 2n ** 64n - 1n],
])("varint %s is %s", (hex, value) => {
  const reader = new WireReader(bytes(hex));
  reader.varint();
  expect((BigInt(reader.high) << 32n) | BigInt(reader.low)).toBe(value);
  expect(reader.done).toBe(true);
});

test("every power of two as protobufjs writes it", () => {
  for (let shift = 0; shift < 64; shift++) {
    const [low, high] = shift < 32 ? [(1 << shift) | 0, 0] : [0, (1 << (shift - 32)) | 0];
    const long = new protobuf.util.Long(low, high, true);
    const reader = new WireReader(Buffer.from(protobuf.Writer.create().uint64(long).finish()));
    reader.varint();
    expect([reader.low, reader.high]).toEqual([low >>> 0, high >>> 0]);
  }
});

test("fixed numbers, lengths and skips", () => {
  const reader = new WireReader(bytes("01020304 0102030405060708 02 ffff 03 aabbcc 05"));
  reader.fixed32();
  expect(reader.low).toBe(0x04030201);
  reader.fixed64();
  expect([reader.low, reader.high]).toEqual([0x04030201, 0x08070605]);
  expect(reader.lengthDelimited()).toBe(13);
  expect(reader.position).toBe(15);
  reader.skip(2);
  reader.skip(0);
  expect(reader.done).toBe(true);
});

test.each([
  ["80", "varint"],
  ["ffffffffffffffffffff01", "varint"],
  ["010203", "fixed32"],
  ["01020304050607", "fixed64"],
  ["0401", "lengthDelimited"],
  ["ffffffffffffffffff01", "lengthDelimited"],
  ["07", "tag"],
  ["808080808001", "tag"],
] as const)("%s is no %s", (hex, method) => {
  expect(() => new WireReader(bytes(hex))[method]()).toThrow(InvalidValue);
});
