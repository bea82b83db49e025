/** The slow path is worth asking: it gives the published bytes for every conversion vector. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import { parseTableSchema } from "../../src/schema/table-schema.ts";
import { slowTranscode, type SlowResult } from "../support/slow-path.ts";
import { messageType, readRow, rowShape, writeRow, type Row } from "../support/slow-row.ts";
import { tableMode } from "../support/mapping-options.ts";

interface Vector {
  readonly id: string;
  readonly type: string;
  readonly mode?: string;
  readonly params?: object;
  /** JSON text of the value. */
  readonly inputText: string;
  readonly ok: boolean;
  readonly code?: string;
  /** The row with this column as field 1, in hexadecimal digits. */
  readonly msg?: string;
}

const file = new URL("../fixtures/bigquery-values.json", import.meta.url);
const { vectors } = JSON.parse(readFileSync(file, "utf8")) as { readonly vectors: readonly Vector[] };

function resultOf(payload: string, fields: readonly object[], own: Partial<MappingOptions> = {}): SlowResult {
  const message = { messageId: "1", publishTimeMicros: 0n, attributes: new Map<string, string>(), orderingKey: "" };
  const data = Buffer.from(payload);
  return slowTranscode(parseTableSchema(fields), { ...tableMode, ...own }, { ...message, data });
}

const fieldOf = ({ type, mode, params }: Vector): object => ({ name: "v", type, mode, ...params });

describe("conversion vectors", () => {
  test.each(vectors.filter(({ ok }) => ok))("$id $type $inputText becomes a row", (vector) => {
    const field = fieldOf(vector);
    const rowType = messageType(rowShape(parseTableSchema([field]), "null"));
    const result = resultOf(`{"v":${vector.inputText}}`, [field]) as { row: Row };
    expect(readRow(rowType, writeRow(rowType, result.row))).toEqual(readRow(rowType, Buffer.from(vector.msg!, "hex")));
  });

  test.each(vectors.filter(({ ok }) => !ok))("$id $type $inputText is refused", (vector) => {
    const result = resultOf(`{"v":${vector.inputText}}`, [fieldOf(vector)]) as { code: string };
    expect(result).toHaveProperty("code");
    expect(vector.code ?? result.code).toBe(result.code);
  });
});

describe("what vectors do not say", () => {
  const fields = [
    { name: "id", type: "INT64", mode: "REQUIRED" },
    { name: "addr", type: "STRUCT", fields: [{ name: "zip", type: "STRING", mode: "REQUIRED" }] },
    { name: "doc", type: "JSON" },
  ];

  test.each([
    ["malformed before everything", '{"x":1,"id":"a"', "MALFORMED_PAYLOAD", ""],
    ["a lone surrogate in a dropped value", '{"id":1,"x":{"y":"\\ud800"}}', "MALFORMED_PAYLOAD", ""],
    ["1,001 levels", `{"id":1,"x":${"[".repeat(1000)}${"]".repeat(1000)}}`, "MALFORMED_PAYLOAD", ""],
    ["the first fault of the payload", '{"ID":"a","x":1}', "TYPE_MISMATCH", "ID"],
    ["unknown fields in their turn", '{"x":1,"id":"a"}', "UNKNOWN_FIELD", "x"],
    ["a key in two spellings", '{"id":1,"ID":2}', "DUPLICATE_FIELD", "ID"],
    ["missing fields last", '{"addr":{},"doc":1e400}', "OUT_OF_RANGE", "doc"],
    ["missing fields in the order of the table", '{"addr":{}}', "MISSING_REQUIRED", "id"],
    ["null where a value is required", '{"Id":null}', "MISSING_REQUIRED", "Id"],
    ["missing within a record", '{"id":1,"Addr":{}}', "MISSING_REQUIRED", "Addr.zip"],
    ["a fault within a JSON column", '{"id":1,"doc":{"a":[{"b":1,"b":2}]}}', "DUPLICATE_FIELD", "doc.a[0].b"],
  ])("%s", (_, payload, code, path) => {
    expect(resultOf(payload, fields)).toEqual({ code, path });
  });

  test("dropped fields are gone, a dropped key may come once only", () => {
    const dropping = { dropUnknownFields: true };
    expect(resultOf('{"id":7,"x":{"a":[1]}}', fields, dropping)).toEqual({ row: { f1: "7" } });
    expect(resultOf('{"id":7,"x":1,"x":2}', fields, dropping)).toEqual({ code: "DUPLICATE_FIELD", path: "x" });
  });

  test("numbers keep the text that JSON.parse read", () => {
    const result = resultOf('{"v":[1.10,-0,12345678901234567890]}', [{ name: "v", type: "STRING", mode: "REPEATED" }]);
    expect(result).toEqual({ row: { f1: ["1.10", "-0", "12345678901234567890"] } });
  });
});
