import { describe, expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import type { MappingOptions } from "../../../src/mapping/mapping-plan.ts";
import { parseTableSchema } from "../../../src/schema/table-schema.ts";
import { createTranscoder } from "../../../src/transcode/transcoder.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { readRowAt, RowReader } from "../../support/row-reader.ts";
import { mapped } from "../../support/mapped.ts";
import { tableMode } from "../../support/mapping-options.ts";

describe("a batch of rows", () => {
  const table = parseTableSchema([{ name: "s", type: "STRING" }]);
  const payload = (length: number): Buffer => Buffer.from(`{"s":"${"x".repeat(length)}"}`);

  test("is filled until it is full, and the rest of the messages is left", () => {
    const transcoder = createTranscoder(table, tableMode);
    const batch = new PayloadBatch([payload(10), Buffer.from("bad"), payload(20), payload(30), payload(40)]);
    const rows = new RowBatch({ maxBytes: 1000, maxRows: 2, maxRequestBytes: 1000 });
    const first = transcoder.transcode(batch, 0, batch.length, rows);
    expect(first.next).toBe(3);
    expect([...first.refusals.keys()]).toEqual([1]);
    expect([rows.messageOf(0), rows.messageOf(1)]).toEqual([0, 2]);
    rows.clear();
    expect(transcoder.transcode(batch, first.next, batch.length, rows)).toEqual({ next: 5, refusals: new Map() });
    expect([rows.messageOf(0), rows.messageOf(1)]).toEqual([3, 4]);
  });

  test("a row that no request can carry is refused, one that only this request cannot carry waits for the next", () => {
    const transcoder = createTranscoder(table, tableMode);
    const batch = new PayloadBatch([payload(600), payload(2000), payload(600), payload(5)]);
    const rows = new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1000 });
    const first = transcoder.transcode(batch, 0, batch.length, rows);
    expect(first.next).toBe(2);
    expect(first.refusals.get(1)).toMatchObject({ code: "ROW_TOO_LARGE", path: "", stage: "transcode" });
    rows.clear();
    expect(transcoder.transcode(batch, 2, batch.length, rows).next).toBe(4);
    expect(rows.rowCount).toBe(2);
  });

  test("a row that outgrows every request does not take its memory, and a malformed payload is that first", () => {
    const fields = [{ name: "t", type: "TIMESTAMP", timestampPrecision: "12", mode: "REPEATED" }];
    const many = `{"t":[${"1,".repeat(20_000)}1]`;
    const limits = { maxBytes: 10_000, maxRequestBytes: 10_000 };
    const results = mapped(fields, [`${many}}`, many, '{"t":[1]}'], {}, { ...limits, maxRows: 10 });
    expect(results.map(({ refused }) => refused)).toEqual(["ROW_TOO_LARGE ", "MALFORMED_PAYLOAD ", undefined]);
  });
});

describe("metadata", () => {
  const fields = [
    { name: "attributes", type: "JSON" },
    { name: "id", type: "INT64" },
    { name: "Publish_Time", type: "TIMESTAMP" },
    { name: "message_id", type: "STRING", mode: "REQUIRED" },
    { name: "subscription_name", type: "STRING" },
  ];
  const own: MappingOptions = { ...tableMode, writeMetadata: true, subscription: "projects/p/subscriptions/s" };
  const envelope = {
    messageId: "m-1",
    publishTimeMicros: 1_704_067_200_000_001n,
    attributes: new Map([
      ["b", 'v"'],
      ["2", "é"],
      ["__proto__", "x"],
    ]),
    orderingKey: "k",
  };

  function rowOf(payload: string, table = fields, its = envelope): object {
    const transcoder = createTranscoder(parseTableSchema(table), own);
    const rows = new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1000 });
    const { refusals } = transcoder.transcode(new PayloadBatch([Buffer.from(payload)], its), 0, 1, rows);
    const refusal = refusals.get(0);
    if (refusal) return { refused: `${refusal.code} ${refusal.path}` };
    return readRowAt(new RowReader(transcoder.descriptor.bytes), rows, 0);
  }

  test("goes to its four columns, the ordering key among the attributes", () => {
    expect(rowOf('{"id":7}')).toEqual({
      f1: String.raw`{"b":"v\"","2":"é","__proto__":"x","ordering_key":"k"}`,
      f2: "7",
      f3: "1704067200000001",
      f4: "m-1",
      f5: "projects/p/subscriptions/s",
    });
  });

  test("an ordering key takes the place of an attribute of its name; without one there is no such member", () => {
    const attributes = new Map([["ordering_key", "mine"]]);
    expect(rowOf("{}", fields, { ...envelope, attributes })).toMatchObject({ f1: '{"ordering_key":"k"}' });
    expect(rowOf("{}", fields, { ...envelope, attributes, orderingKey: "" })).toMatchObject({
      f1: '{"ordering_key":"mine"}',
    });
  });

  test("a field of the payload cannot stand for it, in whatever case", () => {
    expect(rowOf('{"message_id":"mine"}')).toEqual({ refused: "UNKNOWN_FIELD message_id" });
    expect(rowOf('{"publish_time":1}')).toEqual({ refused: "UNKNOWN_FIELD publish_time" });
  });

  test("that its column cannot hold refuses the message", () => {
    const narrow = [...fields.slice(0, 3), { name: "message_id", type: "STRING", maxLength: "2" }, ...fields.slice(4)];
    expect(rowOf("{}", narrow)).toEqual({ refused: "OUT_OF_RANGE message_id" });
  });
});

describe("raw mode", () => {
  const raw = { mode: "raw" } as const;

  test("takes the payload as it is", () => {
    const bytes = Buffer.from([0, 255, 0x22]);
    expect(mapped([{ name: "DATA", type: "BYTES" }], [bytes, ""], raw)).toEqual([
      { row: { f1: bytes.toString("base64") } },
      { row: { f1: "" } },
    ]);
    const text = '\ufeff "é" \n';
    const table = [
      { name: "id", type: "INT64" },
      { name: "data", type: "STRING" },
    ];
    expect(mapped(table, [text, bytes], raw)).toEqual([{ row: { f2: text } }, { refused: "MALFORMED_PAYLOAD " }]);
    expect(mapped([{ name: "data", type: "JSON" }], [' [1, {"a":null}]\n', "null"], raw)).toEqual([
      { row: { f1: ' [1, {"a":null}]\n' } },
      { row: { f1: "null" } },
    ]);
  });

  test("refuses what the column cannot hold", () => {
    expect(mapped([{ name: "data", type: "BYTES", maxLength: "2" }], ["abc", "ab"], raw)).toEqual([
      { refused: "OUT_OF_RANGE " },
      { row: { f1: "YWI=" } },
    ]);
    expect(mapped([{ name: "data", type: "STRING", maxLength: "2" }], ["éé", "ééé"], raw)).toEqual([
      { row: { f1: "éé" } },
      { refused: "OUT_OF_RANGE " },
    ]);
    expect(
      mapped([{ name: "data", type: "JSON" }], ["", "{", "1 2", '{"a":[{"b":1,"b":2}]}', "[1e999]", "\ufeff1"], raw),
    ).toEqual([
      ...["MALFORMED_PAYLOAD ", "MALFORMED_PAYLOAD ", "MALFORMED_PAYLOAD "].map((refused) => ({ refused })),
      ...["DUPLICATE_FIELD a[0].b", "OUT_OF_RANGE [0]", "MALFORMED_PAYLOAD "].map((refused) => ({ refused })),
    ]);
  });
});

describe("a mapping that cannot be is refused with all its reasons", () => {
  const reasons = (fields: readonly object[], own: Partial<MappingOptions>): string => {
    try {
      createTranscoder(parseTableSchema(fields), { ...tableMode, ...own });
    } catch (error) {
      if (error instanceof SetupError) return error.message;
      throw error;
    }
    return "none";
  };

  test("metadata columns", () => {
    const fields = [
      { name: "message_id", type: "INT64" },
      { name: "publish_time", type: "TIMESTAMP", mode: "REPEATED" },
      { name: "attributes", type: "JSON" },
    ];
    const message = reasons(fields, { writeMetadata: true });
    for (const part of [
      "name of the subscription",
      "subscription_name",
      "message_id",
      "it is INT64",
      "it is REPEATED",
    ]) {
      expect(message).toContain(part);
    }
  });

  test("raw mode", () => {
    const id = { name: "id", type: "INT64", mode: "REQUIRED" };
    expect(reasons([{ ...id, mode: "NULLABLE" }], { mode: "raw" })).toContain("column data of BYTES, STRING or JSON");
    expect(reasons([id, { name: "data", type: "BYTES" }], { mode: "raw" })).toContain("column id is REQUIRED");
    expect(reasons([{ name: "data", type: "INT64" }], { mode: "raw" })).toContain("it is INT64");
    expect(reasons([{ name: "data", type: "BYTES", mode: "REPEATED" }], { mode: "raw" })).toContain("it is REPEATED");
  });

  test("column options", () => {
    const fields = [
      { name: "t", type: "TIMESTAMP" },
      { name: "s", type: "RECORD", fields: [{ name: "d", type: "DATE" }] },
    ];
    const columns = {
      T: { timestampUnit: "millis", jsonNull: "null" },
      "s.d": { timestampUnit: "millis", jsonNull: "keep" },
      s: { format: "%Y" },
      "s.x": {},
    } as const;
    const message = reasons(fields, { columns });
    expect(message.split("\n")).toHaveLength(5);
    for (const part of ["bigquery.columns.s.d: timestampUnit", "s.d: jsonNull", "columns.s: format", "columns.s.x"]) {
      expect(message).toContain(part);
    }
  });
});
