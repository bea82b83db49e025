import { expect, test } from "vitest";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";
import { createTranscoder } from "../../../src/transcode/transcoder.ts";
import { FieldOrder } from "../../../src/transcode/field-order.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { WireWriter } from "../../../src/write/wire-writer.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { tableMode } from "../../support/mapping-options.ts";

function rowsOf(fields: readonly object[], payloads: readonly string[]): string[] {
  const transcoder = createTranscoder(parseTableSchema(fields), tableMode);
  const rows = new RowBatch({ maxBytes: 1_000_000, maxRows: 1000, maxRequestBytes: 1_000_000 });
  transcoder.transcode(new PayloadBatch(payloads.map((payload) => Buffer.from(payload))), 0, payloads.length, rows);
  return payloads.map((_, row) => rows.writer.bytes.toString("hex", rows.payloadStart(row), rows.rowEnd(row)));
}

test("the same row is the same bytes, however its message is spelled", () => {
  const fields = [
    { name: "a", type: "INT64" },
    { name: "b", type: "STRING", mode: "REPEATED" },
    {
      name: "c",
      type: "RECORD",
      fields: [
        { name: "x", type: "FLOAT64" },
        { name: "y", type: "INT64", mode: "REPEATED" },
      ],
    },
  ];
  const [inOrder, ...others] = rowsOf(fields, [
    '{"a":300,"b":["p","q"],"c":{"x":1,"y":[1,2]}}',
    '{"c":{"y":[1,2],"x":1},"b":["p","q"],"a":300}',
    '{"b":["p","q"],"c":{"x":1,"y":[1,2]},"A":300}',
  ]);
  expect(inOrder).toBe(["08ac02", "120170", "120171", "1a0d", "09000000000000f03f", "12020102"].join(""));
  expect(others).toEqual([inOrder, inOrder]);
});

test("many fields, with tags of more than one byte, are sorted too", () => {
  const fields = Array.from({ length: 3000 }, (_, i) => ({ name: `c${i}`, type: "INT64" }));
  const members = fields.map(({ name }, i) => `"${name}":${i}`);
  const [inOrder, reversed] = rowsOf(fields, [`{${members.join(",")}}`, `{${members.toReversed().join(",")}}`]);
  expect(reversed).toBe(inOrder);
});

test("what stands in front of the record is left alone", () => {
  const out = new WireWriter(100);
  for (const byte of [0x18, 0x01, 0x10, 0x02, 0x08, 0x03]) out.varint32(byte);
  new FieldOrder(3).restore(out, 2);
  expect(out.bytes.toString("hex", 0, out.position)).toBe("180108031002");
});
