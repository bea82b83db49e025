import * as fc from "fast-check";
import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { bindColumns } from "../../../../src/emulator/bigquery/column-binding.ts";
import type { Column } from "../../../../src/emulator/bigquery/column.ts";
import { RowValidator } from "../../../../src/emulator/bigquery/row-validator.ts";
import { toCell } from "../../../../src/emulator/bigquery/value-codec.ts";
import { parseWriterDescriptor } from "../../../../src/emulator/bigquery/writer-descriptor.ts";
import { bytes, columns, descriptor, field, int64Row, repeated, required } from "./writer.ts";
import { propertySeed } from "../../../support/property-seed.ts";

function validator(table: readonly Column[], raw: Buffer, takesDefault = (_position: number) => false): RowValidator {
  return new RowValidator(bindColumns(parseWriterDescriptor(raw), table, "stream"), takesDefault);
}

function problemOf(validator: RowValidator, row: Buffer): string | undefined {
  return validator.problemOf(row, 0, row.length);
}

/** A validator of one column `c`, field 1. */
function ofColumn(column: object, type: string, more: object = {}): RowValidator {
  return validator(columns({ name: "c", ...column }), descriptor([field("c", 1, type, more)]));
}

describe("the wire", () => {
  const plain = validator(
    columns({ name: "id", type: "INT64" }, { name: "s", type: "STRING" }, { name: "f", type: "FLOAT64" }),
    descriptor([field("id", 1, "int64"), field("s", 2, "string"), field("f", 3, "double")]),
  );

  test("an empty row and a full one are right", () => {
    expect(problemOf(plain, bytes(""))).toBeUndefined();
    expect(problemOf(plain, bytes("08 ffffffffffffffffff01 12 02 c3a9 19 000000000000f87f"))).toBeUndefined();
  });

  test.each([
    ["a number without end", "08 ff", "Bytes end inside a number on field id"],
    ["a number of eleven bytes", "08 ffffffffffffffffffff01", "more than ten bytes on field id"],
    ["a text that is longer than the row", "12 05 6162", "Length goes beyond the end on field s"],
    ["half a double", "19 00000000", "Length goes beyond the end on field f"],
    ["a field that the schema lacks", "20 01", "Row has field number 4"],
    ["the wrong wire type", "0a 01 31", "Wire type is 2 instead of 0 on field id"],
    ["a group", "0b 0c", "Wire type is 3"],
    ["a value that comes twice", "08 01 08 02", "Value comes twice on field id"],
    ["a text that is no UTF-8", "12 02 c328", "no valid UTF-8 on field s"],
    ["a surrogate in UTF-8", "12 03 eda080", "no valid UTF-8 on field s"],
    ["field number 0", "00 01", "no valid field number"],
  ])("%s is refused", (_, hex, words) => {
    expect(problemOf(plain, bytes(hex))).toContain(words);
  });

  test("long texts are checked as well", () => {
    const text = (last: string): Buffer => bytes(`12 50 ${"61".repeat(78)} ${last}`);
    expect(problemOf(plain, text("c3a9"))).toBeUndefined();
    expect(problemOf(plain, text("c3c3"))).toContain("no valid UTF-8");
  });

  test("a row is judged inside the bytes around it", () => {
    const around = bytes("ffff 08 01 ffff");
    expect(plain.problemOf(around, 2, 4)).toBeUndefined();
    expect(plain.problemOf(around, 2, 5)).toBeDefined();
  });
});

describe("repeated and nested values", () => {
  const nested = validator(
    columns(
      { name: "n", type: "DATE", mode: "REPEATED" },
      {
        name: "r",
        type: "RECORD",
        mode: "REPEATED",
        fields: [
          { name: "must", type: "STRING", mode: "REQUIRED" },
          { name: "day", type: "DATE" },
        ],
      },
    ),
    descriptor([field("n", 1, "int32", repeated), field("r", 2, "message", { ...repeated, typeName: "R" })], {
      nestedType: [{ name: "R", field: [field("must", 1, "string"), field("day", 2, "int32")] }],
    }),
  );

  test("numbers come packed or one by one", () => {
    expect(problemOf(nested, bytes("0a 02 0102 08 03"))).toBeUndefined();
    expect(problemOf(nested, bytes("0a 05 01a181b301"))).toContain("DATE is out of range on field n");
    expect(problemOf(nested, bytes("0a 03 01ffff"))).toContain("Bytes end inside a number on field n");
  });

  test("what a record requires is required of each of them", () => {
    expect(problemOf(nested, bytes("12 03 0a0161 12 05 0a0162 1001"))).toBeUndefined();
    expect(problemOf(nested, bytes("12 03 0a0161 12 02 1001"))).toBe("Required value is missing on field r.must");
    expect(problemOf(nested, bytes("12 07 0a0161 10a181b301"))).toContain("on field r.day");
  });
});

describe("presence", () => {
  const table = columns(
    { name: "a", type: "INT64", mode: "REQUIRED" },
    { name: "b", type: "INT64", mode: "REQUIRED", defaultValueExpression: "5" },
  );
  const optional = descriptor([field("a", 1, "int64"), field("b", 2, "int64")]);

  test("a REQUIRED column needs a value unless it takes its default", () => {
    expect(problemOf(validator(table, optional), bytes("1001"))).toBe("Required value is missing on field a");
    expect(problemOf(validator(table, optional), bytes("0801"))).toBe("Required value is missing on field b");
    expect(
      problemOf(
        validator(table, optional, (position) => position === 1),
        bytes("0801"),
      ),
    ).toBeUndefined();
  });

  test("what the descriptor calls required must be there in any case", () => {
    const strict = descriptor([field("a", 1, "int64"), field("b", 2, "int64", required)]);
    expect(
      problemOf(
        validator(table, strict, () => true),
        bytes("0801"),
      ),
    ).toContain("on field b");
  });

  test("a default_value of the descriptor is a value", () => {
    const withDefault = descriptor([field("a", 1, "int64", { defaultValue: "0" }), field("b", 2, "int64")]);
    expect(problemOf(validator(table, withDefault), bytes("1001"))).toBeUndefined();
  });
});

describe("parameters and ranges", () => {
  test("STRING(L) counts code points, BYTES(L) bytes", () => {
    const text = ofColumn({ type: "STRING", maxLength: "2" }, "string");
    expect(problemOf(text, bytes("0a 08 f09f9880 f09f9880"))).toBeUndefined();
    expect(problemOf(text, bytes("0a 03 616263"))).toContain("maximum length 2, got 3");
    const raw = ofColumn({ type: "BYTES", maxLength: "2" }, "bytes");
    expect(problemOf(raw, bytes("0a 02 ffff"))).toBeUndefined();
    expect(problemOf(raw, bytes("0a 03 ffffff"))).toContain("maximum length 2, got 3");
  });

  test("NUMERIC(P,S) and NUMERIC", () => {
    const money = ofColumn({ type: "NUMERIC", precision: "3", scale: "1" }, "string");
    expect(problemOf(money, bytes(`0a 04 ${Buffer.from("99.9").toString("hex")}`))).toBeUndefined();
    expect(problemOf(money, bytes(`0a 03 ${Buffer.from("100").toString("hex")}`))).toContain("NUMERIC(3,1)");
    const plain = ofColumn({ type: "NUMERIC" }, "bytes");
    expect(problemOf(plain, bytes("0a 04 008c8647"))).toBeUndefined();
    expect(problemOf(plain, bytes(`0a 10 ${"ff".repeat(15)}7f`))).toContain("out of range of NUMERIC");
    expect(problemOf(plain, bytes("0a 00"))).toContain("1 to 16 bytes");
  });

  test("a TIMESTAMP out of range is named with its value, as the service does", () => {
    const column = ofColumn({ type: "TIMESTAMP" }, "int64");
    const row = int64Row(253402300800000000n);
    expect(problemOf(column, row)).toBe(
      "Timestamp value is out of range in microseconds: 253402300800000000 on field c",
    );
  });

  test("a RANGE starts before it ends; bounds may be absent", () => {
    const range = validator(
      columns({ name: "c", type: "RANGE", rangeElementType: { type: "DATE" } }),
      descriptor([field("c", 1, "message", { typeName: "R" })], {
        nestedType: [{ name: "R", field: [field("start", 1, "int32"), field("end", 2, "int32")] }],
      }),
    );
    expect(problemOf(range, bytes("0a 04 0801 1002"))).toBeUndefined();
    expect(problemOf(range, bytes("0a 02 1002"))).toBeUndefined();
    expect(problemOf(range, bytes("0a 00"))).toBeUndefined();
    expect(problemOf(range, bytes("0a 04 0802 1002"))).toBe("RANGE must start before it ends on field c");
    expect(problemOf(range, bytes("0a 05 08a181b301"))).toContain("on field c.start");
  });

  test("an enum for a STRING has a name", () => {
    const colours = { name: "Colour", value: [{ name: "RED", number: 1 }] };
    const raw = descriptor([field("c", 1, "enum", { typeName: "Colour" })], { enumType: [colours] });
    expect(problemOf(validator(columns({ name: "c", type: "STRING" }), raw), bytes("0801"))).toBeUndefined();
    expect(problemOf(validator(columns({ name: "c", type: "STRING" }), raw), bytes("0802"))).toContain("no name");
    expect(problemOf(validator(columns({ name: "c", type: "INT64" }), raw), bytes("0802"))).toBeUndefined();
  });
});

describe(`quick checks judge as the full conversion does (PROPERTY_SEED=${propertySeed})`, () => {
  /** Numbers near the ends of every type, and packed forms whose parts are near theirs. */
  const near = (values: readonly bigint[]): fc.Arbitrary<bigint> =>
    fc.tuple(fc.constantFrom(...values), fc.bigInt(-3n, 3n)).map(([value, step]) => BigInt.asIntN(64, value + step));
  const packed = fc
    .tuple(
      fc.integer({ min: 0, max: 16383 }),
      fc.nat(15),
      fc.nat(31),
      fc.nat(31),
      fc.nat(63),
      fc.nat(63),
      fc.nat(1048575),
    )
    .map(([year, month, day, hour, minute, second, micro]) => {
      const time = (BigInt(hour) << 32n) | (BigInt(minute) << 26n) | (BigInt(second) << 20n) | BigInt(micro);
      return (BigInt(year) << 46n) | (BigInt(month) << 42n) | (BigInt(day) << 37n) | time;
    });
  const integers = fc.oneof(
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
    near([
      0n,
      2n ** 31n,
      -(2n ** 31n),
      -62135596800000000n,
      253402300799999999n,
      1n << 37n,
      1n << 60n,
      -719162n,
      2932896n,
    ]),
    packed,
    packed.map((value) => BigInt.asUintN(37, value)),
  );

  test.each([
    ["DATE", "int32"],
    ["DATE", "int64"],
    ["TIME", "int64"],
    ["DATETIME", "int64"],
    ["TIMESTAMP", "int64"],
  ] as const)("%s from %s", (type, source) => {
    const check = ofColumn({ type }, source);
    const cell = toCell({ type }, source);
    const property = fc.property(integers, (value) => {
      const integer = source === "int32" ? BigInt.asIntN(32, value) : value;
      const row = int64Row(integer);
      let isRight = true;
      try {
        cell(integer);
      } catch {
        isRight = false;
      }
      expect(problemOf(check, row) === undefined).toBe(isRight);
    });
    fc.assert(property, { seed: propertySeed, numRuns: 3000 });
  });

  test.each(["NUMERIC", "BIGNUMERIC"] as const)("%s from bytes", (type) => {
    const check = ofColumn({ type }, "bytes");
    const cell = toCell({ type }, "bytes");
    const edges = [10n ** 38n, -(10n ** 38n), 2n ** 127n - 1n].map((value) => {
      const hex = BigInt.asUintN(128, value).toString(16).padStart(32, "0");
      return Buffer.from(bytes(hex).toReversed());
    });
    const property = fc.property(fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...edges)), (value) => {
      const row = Buffer.from(protobuf.Writer.create().uint32(10).bytes(value).finish());
      let isRight = true;
      try {
        cell(value);
      } catch {
        isRight = false;
      }
      expect(problemOf(check, row) === undefined).toBe(isRight);
    });
    fc.assert(property, { seed: propertySeed, numRuns: 3000 });
  });

  test("any bytes are judged, never a crash", () => {
    const table = columns(
      { name: "a", type: "JSON" },
      { name: "b", type: "NUMERIC", mode: "REPEATED" },
      { name: "c", type: "RECORD", fields: [{ name: "d", type: "TIME" }] },
    );
    const raw = descriptor(
      [field("a", 1, "string"), field("b", 2, "double", repeated), field("c", 3, "message", { typeName: "C" })],
      { nestedType: [{ name: "C", field: [field("d", 1, "string")] }] },
    );
    const check = validator(table, raw);
    const { reflection } = parseWriterDescriptor(raw);
    const property = fc.property(fc.uint8Array({ maxLength: 60 }), (row) => {
      if (problemOf(check, Buffer.from(row)) === undefined) reflection.decode(row);
    });
    expect(fc.check(property, { seed: propertySeed, numRuns: 5000 })).toMatchObject({ failed: false });
  });
});
