import { describe, expect, test } from "vitest";
import { parseWriterDescriptor } from "../../../../src/emulator/bigquery/writer-descriptor.ts";
import { bytes, descriptor, field, repeated } from "./writer.ts";

describe("names", () => {
  test("the column_name option wins over the field's own name", () => {
    // As Google's Node client was seen to send it: extension 454943157 of FieldOptions.
    const options = "42 0d aa9bbcc70d 07 7374722de58897";
    const raw = bytes(`0a01 52 12 25 0a10 6669656c645f63335279 4c57496c7731 18 02 20 01 28 09 ${options}`);
    const length = raw.length - 5;
    raw[4] = length;
    const { shape } = parseWriterDescriptor(raw);
    expect(shape.fields.map(({ name, number, type }) => [name, number, type])).toEqual([["str-列", 2, "string"]]);
  });

  test("nested types are found from the inside out, by relative, dotted and full names", () => {
    const inner = { name: "Inner", field: [field("x", 1, "int64")] };
    const outer = { name: "Outer", field: [field("inner", 1, "message", { typeName: "Inner" })], nestedType: [inner] };
    const { shape } = parseWriterDescriptor(
      descriptor(
        [
          field("relative", 1, "message", { typeName: "Outer" }),
          field("dotted", 2, "message", { typeName: "Outer.Inner" }),
          field("full", 3, "message", { typeName: ".Row.Outer.Inner" }),
        ],
        { nestedType: [outer] },
      ),
    );
    const [relative, dotted, full] = shape.fields;
    expect(relative?.message?.fields[0]?.message?.fields[0]?.name).toBe("x");
    expect(dotted?.message?.fields[0]?.name).toBe("x");
    expect(full?.message?.fields[0]?.name).toBe("x");
  });

  test("an enum may stand inside a message of its own, as Google's normalisers put it", () => {
    const colours = {
      name: "Colour",
      value: [
        { name: "RED", number: 0 },
        { name: "BLUE", number: 7 },
      ],
    };
    const { shape } = parseWriterDescriptor(
      descriptor([field("c", 1, "enum", { typeName: "Colour_E.Colour" })], {
        nestedType: [{ name: "Colour_E", enumType: [colours] }],
      }),
    );
    expect([...(shape.fields[0]?.enumNames ?? [])]).toEqual([
      [0, "RED"],
      [7, "BLUE"],
    ]);
  });
});

describe("reflection", () => {
  test("rows are decoded with presence, 64-bit integers whole, packed or not", () => {
    const { reflection } = parseWriterDescriptor(
      descriptor([
        field("__proto__", 1, "int64"),
        field("constructor", 2, "string"),
        field("n", 3, "int32", repeated),
        field("absent", 4, "bool"),
      ]),
    );
    const row = reflection.decode(bytes("08 ffffffffffffffff7f 12 00 1a 02 0102 18 03")) as unknown as {
      f1: { low: number; high: number };
      f2: string;
      f3: number[];
    };
    expect([row.f1.high, row.f1.low]).toEqual([2 ** 31 - 1, -1]);
    expect(row.f2).toBe("");
    expect(row.f3).toEqual([1, 2, 3]);
    expect(Object.hasOwn(row, "f4")).toBe(false);
  });
});

describe("refusals", () => {
  test.each([
    ["bytes that are no descriptor", bytes("0aff"), "no DescriptorProto"],
    ["no fields", descriptor([]), "has no fields"],
    ["two fields of one number", descriptor([field("a", 1, "int64"), field("b", 1, "int64")]), "same number"],
    ["two fields of one column", descriptor([field("a", 1, "int64"), field("A", 2, "int64")]), "same column"],
    ["a field without number", descriptor([field("a", 0, "int64")]), "no valid number"],
    ["a group", descriptor([field("a", 1, "group")]), "is a group"],
    ["a type from elsewhere", descriptor([field("a", 1, "message", { typeName: ".other.T" })]), "not inside"],
    ["an enum from elsewhere", descriptor([field("a", 1, "enum", { typeName: "E" })]), "not inside"],
  ])("%s", (_, raw, words) => {
    expect(() => parseWriterDescriptor(raw)).toThrow(words);
  });

  test("a type that contains itself", () => {
    const list = { name: "List", field: [field("next", 1, "message", { typeName: "List" })] };
    const raw = descriptor([field("list", 1, "message", { typeName: "List" })], { nestedType: [list] });
    expect(() => parseWriterDescriptor(raw)).toThrow("nested more than");
  });
});
