import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { RowOverflow, WireWriter } from "../../../src/write/wire-writer.ts";

/** What `write` wrote, in hex; it begins with so little room that the writer must grow. */
function written(write: (out: WireWriter) => void): string {
  const out = new WireWriter(1);
  write(out);
  return out.bytes.toString("hex", 0, out.position);
}

/** An int64 in the form that protobufjs takes. */
function longOf(value: number | string): protobuf.Long {
  const bits = BigInt.asUintN(64, BigInt(value));
  return { low: Number(bits & 0xffff_ffffn), high: Number(bits >> 32n), unsigned: false };
}

function official(write: (out: protobuf.Writer) => void): string {
  const out = protobuf.Writer.create();
  write(out);
  return Buffer.from(out.finish()).toString("hex");
}

describe("integers are those of protobufjs", () => {
  const borders = [7, 14, 21, 28, 31, 32, 35, 42, 49, 52, 53].flatMap((bits) => [2 ** bits - 1, 2 ** bits]);
  const safe = [0, 1, 127, 128, 300, 123_456_789_012_345, ...borders].filter(Number.isSafeInteger);

  test.each(safe)("%d and its opposite", (value) => {
    for (const signed of [value, -value]) {
      const expected = official((out) => out.int64(longOf(signed)));
      expect(written((out) => out.int64(signed))).toBe(expected);
      expect(written((out) => out.bigint64(BigInt(signed)))).toBe(expected);
    }
  });

  test.each(["9223372036854775807", "-9223372036854775808", "-1"])("%s", (value) => {
    const expected = official((out) => out.int64(longOf(value)));
    expect(written((out) => out.bigint64(BigInt(value)))).toBe(expected);
  });
});

test.each([0, -0, 1.5, -1e300, Number.NaN, Infinity, 5e-324])("the double %d", (value) => {
  expect(written((out) => out.double(value))).toBe(official((out) => out.double(value)));
});

test.each(["", "é😀", "x".repeat(127), "x".repeat(128), "x".repeat(20_000)])(
  "text and bytes of any length",
  (value) => {
    const source = Buffer.from(`__${value}__`);
    const expected = official((out) => out.string(value));
    expect(written((out) => out.text(value))).toBe(expected);
    expect(written((out) => out.lengthDelimited(source, 2, source.length - 2))).toBe(expected);
  },
);

describe("a part whose length is not known before", () => {
  test.each([0, 1, 127, 128, 16_383, 16_384, 3_000_000])("%d bytes, whatever was guessed", (length) => {
    const part = Buffer.alloc(length, 7);
    const expected = official((out) => out.bytes(part).uint32(5));
    for (const width of [1, 2, 3, 4]) {
      const hex = written((out) => {
        const start = out.fork(width);
        out.reserve(length);
        out.position += part.copy(out.bytes, out.position);
        expect(out.join(start, width)).toBe(protobuf.Writer.create().uint32(length).finish().length);
        out.varint32(5);
      });
      expect(hex).toBe(expected);
    }
  });
});

test.each([1, 15, 16, 2047, 2048, 10_000])(
  "field %d begins with its tag, and nothing is written before the value is",
  (field) => {
    const out = new WireWriter(1);
    const at = out.beginField(field * 8, 1);
    expect(out.position).toBe(0);
    expect(out.bytes.toString("hex", 0, at)).toBe(official((expected) => expected.uint32(field * 8)));
  },
);

test("a writer grows up to its limit and no further", () => {
  const out = new WireWriter(16, 1000);
  for (let i = 0; i < 1000; i++) out.bool(true);
  expect(() => out.bool(true)).toThrow(RowOverflow);
  expect(out.position).toBe(1000);
  expect(out.bytes.length).toBe(1000);
});
