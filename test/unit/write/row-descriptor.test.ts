import { describe, expect, test } from "vitest";
import { storageProtos } from "../../../src/lib/protos.ts";
import { parseTableSchema, type Column } from "../../../src/schema/table-schema.ts";
import { describeRow } from "../../../src/write/row-descriptor.ts";

const never: (column: Column) => boolean = () => false;

interface Message {
  readonly name: string;
  readonly field: readonly {
    readonly name: string;
    readonly number: number;
    readonly label: string;
    readonly type: string;
  }[];
  readonly nestedType: readonly Message[];
}

/** The descriptor as Google's own definition of descriptors reads it. */
function decoded(fields: readonly object[], takesDefault = never): Message {
  const type = storageProtos().lookupType("google.protobuf.DescriptorProto");
  const { bytes } = describeRow(parseTableSchema(fields).columns, takesDefault);
  return type.toObject(type.decode(bytes), { enums: String }) as Message;
}

describe("the descriptor of a table's rows", () => {
  test("has a field for every column, in order, of the type that travels", () => {
    const types = [
      "BOOL bool, INT64 int64, FLOAT64 double, NUMERIC bytes, BIGNUMERIC bytes, STRING string, BYTES bytes, DATE int32",
      "TIME int64, DATETIME int64, TIMESTAMP int64, JSON string, GEOGRAPHY string, INTERVAL string",
    ].flatMap((line) => line.split(", "));
    const { field } = decoded(types.map((pair) => ({ name: pair.split(" ")[0]!, type: pair.split(" ")[0]! })));
    expect(field.map(({ name, type }) => `${name} ${type.slice(5).toLowerCase()}`)).toEqual(types);
    expect(field.map(({ number }) => number)).toEqual(field.map((_, i) => i + 1));
    const [precise] = decoded([{ name: "t", type: "TIMESTAMP", timestampPrecision: "12" }]).field;
    expect(precise!.type).toBe("TYPE_STRING");
  });

  test("labels by mode; a column that takes its default is optional; scalars are packed", () => {
    const fields = [
      { name: "a", type: "INT64", mode: "REQUIRED" },
      { name: "b", type: "INT64", mode: "REQUIRED", defaultValueExpression: "1" },
      { name: "c", type: "INT64", mode: "REPEATED" },
      { name: "d", type: "STRING", mode: "REPEATED" },
    ];
    expect(decoded(fields, (column) => column.hasDefault).field).toEqual([
      { name: "a", number: 1, label: "LABEL_REQUIRED", type: "TYPE_INT64" },
      { name: "b", number: 2, label: "LABEL_OPTIONAL", type: "TYPE_INT64" },
      { name: "c", number: 3, label: "LABEL_REPEATED", type: "TYPE_INT64", options: { packed: true } },
      { name: "d", number: 4, label: "LABEL_REPEATED", type: "TYPE_STRING" },
    ]);
    expect(decoded(fields).field[1]!.label).toBe("LABEL_REQUIRED");
  });

  test("nests a message for a STRUCT and for a RANGE", () => {
    const message = decoded([
      {
        name: "r",
        type: "RECORD",
        fields: [{ name: "x", type: "RECORD", mode: "REPEATED", fields: [{ name: "y", type: "DATE" }] }],
      },
      { name: "g", type: "RANGE", rangeElementType: { type: "DATETIME" } },
    ]);
    const inner = { name: "Record1", field: [{ name: "y", number: 1, label: "LABEL_OPTIONAL", type: "TYPE_INT32" }] };
    const x = { name: "x", number: 1, label: "LABEL_REPEATED", type: "TYPE_MESSAGE", typeName: "Record1" };
    expect(message).toEqual({
      name: "Row",
      field: [
        { name: "r", number: 1, label: "LABEL_OPTIONAL", type: "TYPE_MESSAGE", typeName: "Record1" },
        { name: "g", number: 2, label: "LABEL_OPTIONAL", type: "TYPE_MESSAGE", typeName: "Record2" },
      ],
      nestedType: [
        { name: "Record1", field: [x], nestedType: [inner] },
        {
          name: "Record2",
          field: [
            { name: "start", number: 1, label: "LABEL_OPTIONAL", type: "TYPE_INT64" },
            { name: "end", number: 2, label: "LABEL_OPTIONAL", type: "TYPE_INT64" },
          ],
        },
      ],
    });
  });

  test("names that protobuf cannot spell have a stand-in, which no column has", () => {
    const message = decoded([
      { name: "str-列", type: "STRING" },
      { name: "Column_1", type: "STRING" },
      { name: "record3", type: "RECORD", fields: [{ name: "2nd", type: "INT64" }] },
    ]);
    expect(message.field.map(({ name }) => name)).toEqual(["column_1_", "Column_1", "record3"]);
    expect(message.nestedType.map(({ name }) => name)).toEqual(["Record3_"]);
    const [standIn] = message.field as unknown as readonly { readonly options: object }[];
    expect(standIn!.options).toEqual({ ".google.cloud.bigquery.storage.v1.columnName": "str-列" });
  });

  test("the extension is written as the official client writes it (facts/bigquery-write.md, Appendix A)", () => {
    const { bytes } = describeRow(parseTableSchema([{ name: "str-列", type: "STRING" }]).columns, never);
    expect(bytes.toString("hex")).toContain("420daa9bbcc70d077374722de58897");
  });

  test("as JSON it says the same", () => {
    const { json } = describeRow(
      parseTableSchema([
        { name: "n", type: "INT64", mode: "REPEATED" },
        { name: "a b", type: "STRING" },
      ]).columns,
      never,
    );
    expect(json).toEqual({
      name: "Row",
      field: [
        { name: "n", number: 1, label: "LABEL_REPEATED", type: "TYPE_INT64", options: { packed: true } },
        {
          name: "column_2",
          number: 2,
          label: "LABEL_OPTIONAL",
          type: "TYPE_STRING",
          options: { "[google.cloud.bigquery.storage.v1.column_name]": "a b" },
        },
      ],
    });
  });
});
