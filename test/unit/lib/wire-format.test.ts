import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { bytesTag, fieldBytes, varintTag, varintWidth, writeVarint } from "../../../src/lib/wire-format.ts";

/** Every boundary between widths, and both ends. */
const boundaries = [0, 1, 127, 128, 16_383, 16_384, 2 ** 21 - 1, 2 ** 21, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32 - 1];

test("tags are those of the encoding's own description: field number times 8, plus the wire type", () => {
  expect([varintTag(1), bytesTag(1), varintTag(15), bytesTag(15), bytesTag(16)]).toEqual([8, 10, 120, 122, 130]);
});

describe("varints", () => {
  test.each(boundaries)("%d is written as protobufjs writes it", (value) => {
    const expected = protobuf.Writer.create().uint32(value).finish();
    const target = Buffer.alloc(12, 0xee);
    const end = writeVarint(target, 3, value);
    expect(target.subarray(3, end)).toEqual(Buffer.from(expected));
    expect([target[2], target[end]]).toEqual([0xee, 0xee]);
    expect(varintWidth(value)).toBe(expected.length);
  });
});

test.each([0, 1, 127, 128, 20_000])("a field of %d bytes takes as many as protobufjs gives it", (length) => {
  const field = protobuf.Writer.create().uint32(bytesTag(15)).bytes(Buffer.alloc(length)).finish();
  expect(fieldBytes(length)).toBe(field.length);
});
