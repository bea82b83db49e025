import { expect, test } from "vitest";
import { AppendRequest } from "../../../src/bigquery/append-request.ts";
import { PendingRows } from "../../../src/bigquery/pending-rows.ts";
import { Witnesses } from "../../../src/bigquery/witnesses.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const transcoder = new FakeTranscoder();

function requestOf(...payloads: string[]): AppendRequest {
  const rows = new RowBatch({ maxBytes: 1 << 20, maxRows: 10, maxRequestBytes: 1 << 20 });
  const batch = new PayloadBatch(payloads.map((payload) => Buffer.from(payload)));
  transcoder.transcode(batch, 0, payloads.length, rows);
  return new AppendRequest(new PendingRows(rows, transcoder, () => rows.clear()), 0, 0);
}

/** As `ProtoRows` holds a row of `FakeTranscoder`: two tags, each with a length, around the payload. */
function bytesOf(request: AppendRequest | undefined): string | undefined {
  if (!request) return undefined;
  const bytes = Buffer.alloc(request.byteLength);
  request.copyRows(bytes, 0);
  return bytes.toString("latin1");
}

test("a stored row is kept as it was, whatever becomes of its batch; after ten seconds another takes its place", async () => {
  const clock = new VirtualClock();
  const witnesses = new Witnesses(clock);
  expect(witnesses.of(transcoder)).toBeUndefined();
  const first = requestOf("abc", "de").pick((i) => i === 1);
  witnesses.note(first);
  first.pending.rows.writer.bytes.fill(0);
  expect(bytesOf(witnesses.of(transcoder))).toBe("\n\u0004\n\u0002de");
  expect(witnesses.of(new FakeTranscoder())).toBeUndefined();
  witnesses.note(requestOf("f"));
  expect(bytesOf(witnesses.of(transcoder))).toBe("\n\u0004\n\u0002de");
  await clock.advance(10_000);
  witnesses.note(requestOf("f"));
  expect(bytesOf(witnesses.of(transcoder))).toBe("\n\u0003\n\u0001f");
});

test("a long row, whose length takes more bytes, is kept whole; one of more than 64 KiB is not kept", () => {
  const witnesses = new Witnesses(new VirtualClock());
  const long = requestOf("x".repeat(70_000));
  witnesses.note(long);
  expect(witnesses.of(transcoder)).toBeUndefined();
  const shorter = requestOf("y", "x".repeat(60_000)).pick((i) => i === 1);
  const expected = bytesOf(shorter);
  witnesses.note(shorter);
  expect(bytesOf(witnesses.of(transcoder))).toBe(expected);
});
