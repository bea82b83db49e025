import protobuf from "protobufjs";
import { describe, expect, test } from "vitest";
import { storageProtos } from "../../../src/lib/protos.ts";
import { RowBatch, type RowBatchLimits, type RowEnd } from "../../../src/write/row-batch.ts";
import { mapped } from "../../support/mapped.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";

const roomy: RowBatchLimits = { maxBytes: 10_000, maxRows: 100, maxRequestBytes: 20_000 };

function add(rows: RowBatch, message: number, length: number, fill = 1): RowEnd {
  rows.beginRow();
  rows.writer.reserve(length);
  rows.writer.bytes.fill(fill, rows.writer.position, rows.writer.position + length);
  rows.writer.position += length;
  return rows.endRow(message);
}

/** The rows as BigQuery reads them: as the field `serialized_rows` of `ProtoRows`. */
function decoded(rows: RowBatch): readonly Uint8Array[] {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.ProtoRows");
  const bytes = rows.writer.bytes.subarray(RowBatch.headroom, rows.writer.position);
  return (type.decode(bytes) as protobuf.Message & { serializedRows: Uint8Array[] }).serializedRows;
}

describe("the rows of a request", () => {
  test("are entries of ProtoRows, with the message each came from", () => {
    const rows = new RowBatch(roomy);
    const lengths = [0, 1, 127, 128, 300, 5];
    for (const [i, length] of lengths.entries()) expect(add(rows, i * 10, length, i)).toBe("stored");
    expect(decoded(rows).map((row) => row.length)).toEqual(lengths);
    expect(decoded(rows)[4]).toEqual(Buffer.alloc(300, 4));
    expect(lengths.map((_, row) => rows.messageOf(row))).toEqual([0, 10, 20, 30, 40, 50]);
    for (const [row, length] of lengths.entries()) {
      expect(rows.rowEnd(row) - rows.payloadStart(row)).toBe(length);
      expect(rows.writer.bytes[rows.rowStart(row)]).toBe(10);
    }
  });

  test("a row that is taken back leaves nothing behind", () => {
    const rows = new RowBatch(roomy);
    add(rows, 0, 10);
    rows.beginRow();
    rows.writer.text("half a row");
    rows.takeBack();
    add(rows, 2, 3);
    expect(decoded(rows).map((row) => row.length)).toEqual([10, 3]);
    expect(rows.messageOf(1)).toBe(2);
  });

  test("keeps the messages that rows came from, and no others", () => {
    const rows = new RowBatch(roomy);
    const sources = Array.from({ length: 5 }, () => new PayloadBatch([Buffer.from("a"), Buffer.from("b")]));
    const [first, bad, worse, second, last] = sources as [
      PayloadBatch,
      PayloadBatch,
      PayloadBatch,
      PayloadBatch,
      PayloadBatch,
    ];
    rows.from(first);
    add(rows, 0, 1);
    for (const batch of [bad, worse, bad, worse]) rows.from(batch);
    expect(rows.origins).toEqual([
      { batch: first, firstRow: 0 },
      { batch: worse, firstRow: 1 },
    ]);
    rows.from(first);
    add(rows, 1, 1);
    rows.from(second);
    add(rows, 0, 1);
    rows.from(last);
    expect(rows.origins.map(({ batch, firstRow }) => [sources.indexOf(batch as PayloadBatch), firstRow])).toEqual([
      [0, 0],
      [3, 2],
      [4, 3],
    ]);
  });

  test("a batch is full by bytes or by rows", () => {
    const byRows = new RowBatch({ ...roomy, maxRows: 2 });
    add(byRows, 0, 1);
    expect(byRows.full).toBe(false);
    add(byRows, 1, 1);
    expect(byRows.full).toBe(true);
    const byBytes = new RowBatch({ ...roomy, maxBytes: 100 });
    add(byBytes, 0, 97);
    expect(byBytes.byteLength).toBe(99);
    expect(byBytes.full).toBe(false);
    add(byBytes, 1, 0);
    expect(byBytes.full).toBe(true);
  });

  test("a row that would make the request too large is for the next one; one that no request can carry is refused", () => {
    const rows = new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1000 });
    expect(add(rows, 0, 600)).toBe("stored");
    expect(add(rows, 1, 600)).toBe("full");
    expect(add(rows, 1, 997)).toBe("full");
    expect(add(rows, 1, 998)).toBe("tooLarge");
    expect(decoded(rows).map((row) => row.length)).toEqual([600]);
    rows.clear();
    expect(add(rows, 1, 997)).toBe("stored");
    expect(rows.byteLength).toBe(1000);
  });

  test("more rows than were thought of", () => {
    const rows = new RowBatch({ maxBytes: 1_000_000, maxRows: 5000, maxRequestBytes: 1_000_000 });
    for (let i = 0; i < 5000; i++) add(rows, i, i % 3);
    expect(rows.rowCount).toBe(5000);
    expect(decoded(rows).every((row, i) => row.length === i % 3)).toBe(true);
    expect(rows.messageOf(4999)).toBe(4999);
  });

  test("an unusually large row does not make the buffer large for ever", () => {
    const rows = new RowBatch({ maxBytes: 1000, maxRows: 10, maxRequestBytes: 1_000_000 });
    const before = rows.writer.bytes.length;
    expect(add(rows, 0, 900_000)).toBe("stored");
    rows.clear();
    expect(rows.writer.bytes.length).toBe(before);
    expect(add(rows, 0, 10)).toBe("stored");
    expect(decoded(rows).map((row) => row.length)).toEqual([10]);
  });

  test("the batches of messages are remembered, each with its first row", () => {
    const rows = new RowBatch(roomy);
    const first = new PayloadBatch([]);
    const second = new PayloadBatch([]);
    rows.from(first);
    add(rows, 0, 1);
    rows.from(first);
    add(rows, 1, 1);
    rows.from(second);
    expect(rows.origins).toEqual([
      { batch: first, firstRow: 0 },
      { batch: second, firstRow: 2 },
    ]);
    rows.clear();
    expect(rows.origins).toEqual([]);
    expect(rows.rowCount).toBe(0);
  });
});

describe("the size of a row", () => {
  const limits = { maxBytes: 1000, maxRequestBytes: 1000 };
  const column = [{ name: "s", type: "STRING" }];
  const payload = (length: number): string => `{"s":"${"x".repeat(length)}"}`;

  test("may be that of a whole request, not one byte more", () => {
    // Around the text: a tag and two bytes of length, for the field and for the row.
    const largest = 1000 - 6;
    expect(mapped(column, [payload(largest + 1), payload(largest)], {}, limits)).toEqual([
      { refused: "ROW_TOO_LARGE " },
      { row: { f1: "x".repeat(largest) } },
    ]);
  });

  test("is found too large wherever in the writer's last bytes it ends", () => {
    const most = new RowBatch({ ...limits, maxRows: 1 }).writer.bytes.length + limits.maxRequestBytes;
    for (let length = most - RowBatch.headroom - 50; length < most; length++) {
      expect(mapped(column, [payload(length)], {}, limits)).toEqual([{ refused: "ROW_TOO_LARGE " }]);
    }
  });
});
