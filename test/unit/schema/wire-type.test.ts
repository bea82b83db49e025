import { describe, expect, test } from "vitest";
import { columnTypes } from "../../../src/schema/table-schema.ts";
import { protoTypeNumbers, protoTypeOf, wireTypes } from "../../../src/schema/wire-type.ts";
import { column } from "../../support/convert.ts";
import protobuf from "protobufjs";
import { storageProtos } from "../../../src/lib/protos.ts";

describe("wire types", () => {
  test("of every column type", () => {
    expect(Object.fromEntries(columnTypes.map((type) => [type, protoTypeOf(column(type))]))).toEqual({
      BOOL: "bool",
      INT64: "int64",
      FLOAT64: "double",
      NUMERIC: "bytes",
      BIGNUMERIC: "bytes",
      STRING: "string",
      BYTES: "bytes",
      DATE: "int32",
      TIME: "int64",
      DATETIME: "int64",
      TIMESTAMP: "int64",
      JSON: "string",
      GEOGRAPHY: "string",
      INTERVAL: "string",
      RANGE: "message",
      STRUCT: "message",
    });
  });

  test("TIMESTAMP of twelve digits is text", () => {
    expect(protoTypeOf(column("TIMESTAMP", { timestampPrecision: 12 }))).toBe("string");
    expect(protoTypeOf(column("TIMESTAMP", { timestampPrecision: 6 }))).toBe("int64");
  });

  test("are numbered as in descriptor.proto and on the wire", () => {
    const numbers = storageProtos().lookupEnum("google.protobuf.FieldDescriptorProto.Type").values;
    for (const [name, number] of Object.entries(protoTypeNumbers)) {
      expect(numbers[`TYPE_${name.toUpperCase()}`]).toBe(number);
    }
    const { message, ...scalars } = wireTypes;
    expect(message).toBe(2);
    expect(protobuf.types.basic).toMatchObject(scalars);
  });
});
