import { describe, expect, test } from "vitest";
import { AppendRequest } from "../../../src/bigquery/append-request.ts";
import { Delivery } from "../../../src/bigquery/delivery.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import {
  missingValuesField,
  noPreamble,
  nullWhenMissingField,
  offsetField,
  requestBytes,
  requestOverhead,
  schemaField,
  streamField,
  traceField,
} from "../../../src/bigquery/request-bytes.ts";
import { storageProtos } from "../../../src/lib/protos.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";

const limits = { maxBytes: 1 << 20, maxRows: 10_000, maxRequestBytes: 9 << 20 };

function requestOf(payloads: readonly string[]): AppendRequest {
  const batch = new PayloadBatch(payloads.map((payload) => Buffer.from(payload)));
  const transcoder = new FakeTranscoder();
  const pending = new PendingRows(new RowBatch(limits), transcoder, () => undefined);
  pending.from(new Delivery(batch, new AbortController().signal, () => undefined));
  transcoder.transcode(batch, 0, batch.length, pending.rows);
  pending.seal();
  return new AppendRequest(pending, 0, 0);
}

/** By Google's definitions. */
function decode(bytes: Buffer): object {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.AppendRowsRequest");
  return type.toObject(type.decode(bytes), { arrays: false, defaults: false, bytes: Array });
}

const rowsOf = (payloads: readonly string[]): number[][] =>
  payloads.map((payload) => [0x0a, payload.length, ...Buffer.from(payload)]);

const stream = "projects/p/datasets/d/tables/t/streams/_default";

describe("a request that changes nothing", () => {
  test("is the rows where they lie, with a header in front", () => {
    const request = requestOf(["a", "bc"]);
    const bytes = requestBytes(request, noPreamble);
    // proto_rows (4): 13 bytes, rows (2): 11 bytes, two serialized_rows (1): 3 and 4 bytes.
    expect(bytes.toString("hex")).toBe("220d120b0a030a01610a040a026263");
    expect(bytes.buffer).toBe(request.pending.rows.writer.bytes.buffer);
    expect(decode(bytes)).toEqual({ protoRows: { rows: { serializedRows: rowsOf(["a", "bc"]) } } });
  });

  test("with so many rows that lengths take three bytes", () => {
    const payloads = Array.from({ length: 3000 }, (_, i) => `row ${i}`);
    const bytes = requestBytes(requestOf(payloads), noPreamble);
    expect(bytes.length).toBeGreaterThan(16_384);
    expect(decode(bytes)).toEqual({ protoRows: { rows: { serializedRows: rowsOf(payloads) } } });
  });

  test("may name its stream without a copy", () => {
    const request = requestOf(["a"]);
    const bytes = requestBytes(request, { ...noPreamble, fields: streamField(stream) });
    expect(bytes.buffer).toBe(request.pending.rows.writer.bytes.buffer);
    expect(decode(bytes)).toMatchObject({ writeStream: stream, protoRows: { rows: {} } });
  });
});

test("the first request of a connection says where to, who, and how to read the rows", () => {
  const transcoder = new FakeTranscoder(Array.from({ length: 10 }, (_, i) => `field_${i}`));
  const { descriptor } = transcoder;
  const preamble = {
    fields: Buffer.concat([streamField(stream), traceField("millrace:1"), missingValuesField("default")]),
    schema: schemaField(descriptor.bytes),
  };
  const bytes = requestBytes(requestOf(["a", "b"]), preamble);
  expect(decode(bytes)).toMatchObject({
    writeStream: stream,
    traceId: "millrace:1",
    defaultMissingValueInterpretation: 2,
    protoRows: {
      writerSchema: { protoDescriptor: { name: expect.stringMatching(/^row_field_0/) } },
      rows: { serializedRows: rowsOf(["a", "b"]) },
    },
  });
  const rowBytes = 2 * 5;
  expect(bytes.length - rowBytes).toBeLessThanOrEqual(requestOverhead(transcoder, stream, "millrace:1"));
});

test("missing values are NULL without a word", () => {
  expect(missingValuesField("null")).toHaveLength(0);
});

test("columns that are empty when missing are named in every request", () => {
  const preamble = { ...noPreamble, fields: nullWhenMissingField(["tags", "größe"]) };
  expect(decode(requestBytes(requestOf(["a"]), preamble))).toMatchObject({
    missingValueInterpretations: { tags: 1, größe: 1 },
  });
});

describe("parts of a request", () => {
  test("carry their rows only", () => {
    const request = requestOf(["a", "bb", "ccc", "dddd"]);
    const part = request.pick((position) => position % 2 === 1);
    expect(part.byteLength).toBe(2 + 4 + (2 + 6));
    expect(decode(requestBytes(part, noPreamble))).toEqual({
      protoRows: { rows: { serializedRows: rowsOf(["bb", "dddd"]) } },
    });
    expect([part.row(0), part.row(1)]).toEqual([1, 3]);
  });

  test("of a part keep counting rows of the whole", () => {
    const [, second] = requestOf(["a", "b", "c", "d", "e"]).halves();
    const [third, fourth] = second.halves();
    expect(second.rowCount).toBe(3);
    expect([third, fourth].map((part) => decode(requestBytes(part, noPreamble)))).toEqual([
      { protoRows: { rows: { serializedRows: rowsOf(["c"]) } } },
      { protoRows: { rows: { serializedRows: rowsOf(["d", "e"]) } } },
    ]);
  });
});

describe("an offset", () => {
  test.each([0, 1, 127, 128, 300, 2 ** 31, 2 ** 32 + 5, Number.MAX_SAFE_INTEGER])("%i", (offset) => {
    const request = requestOf(["a"]);
    const bytes = requestBytes(request, { ...noPreamble, fields: offsetField(offset) });
    const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.AppendRowsRequest");
    const read = type.toObject(type.decode(bytes), { longs: String, defaults: true });
    expect(read["offset"]).toEqual({ value: String(offset) });
    // It takes no copy of the rows.
    expect(bytes.buffer).toBe(request.pending.rows.writer.bytes.buffer);
  });
});
