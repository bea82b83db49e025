import { pino } from "pino";
import { expect, test } from "vitest";
import { traceOf, transcodeContained } from "../../../src/bigquery/contained-transcoding.ts";
import type { MessageBatch } from "../../../src/message.ts";
import type { Transcoded } from "../../../src/transcode/transcoder.ts";
import { RowBatch } from "../../../src/write/row-batch.ts";
import { DestinationRig, fates, watchRejections } from "../../support/destination-rig.ts";
import { stored } from "../../support/fake-append-service.ts";
import { FakeTranscoder } from "../../support/fake-transcoder.ts";
import { PayloadBatch } from "../../support/payload-batch.ts";

watchRejections();

/** Raises an exception on some payloads, after half a row was written. */
class FailingTranscoder extends FakeTranscoder {
  calls = 0;

  override transcode(batch: MessageBatch, from: number, to: number, rows: RowBatch): Transcoded {
    this.calls++;
    for (let message = from; message < to; message++) {
      const payload = batch.bytes.toString("utf8", batch.dataStart(message), batch.dataEnd(message));
      if (!payload.startsWith("defect")) continue;
      super.transcode(batch, from, message, rows);
      rows.beginRow();
      rows.writer.varint32(7);
      throw new RangeError(`no such thing as ${payload}`);
    }
    return super.transcode(batch, from, to, rows);
  }
}

const batchOf = (...payloads: string[]): PayloadBatch => new PayloadBatch(payloads.map((text) => Buffer.from(text)));
const limits = { maxBytes: 1000, maxRows: 4, maxRequestBytes: 2000 };
const textOf = (rows: RowBatch, row: number): string =>
  rows.writer.bytes.toString("utf8", rows.payloadStart(row) + 2, rows.rowEnd(row));

test("without an exception the batch is transcoded in one call", () => {
  const transcoder = new FailingTranscoder();
  const rows = new RowBatch(limits);
  const told: unknown[] = [];
  const { next, refusals } = transcodeContained(transcoder, batchOf("a", "bad", "b"), 0, 3, rows, (error) =>
    told.push(error),
  );
  expect([next, [...refusals.keys()], rows.rowCount, transcoder.calls, told]).toEqual([3, [1], 2, 1, []]);
});

test("a message that raises one is refused as such; its neighbours become rows, in order and once", () => {
  const rows = new RowBatch(limits);
  const told: [unknown, number][] = [];
  const batch = batchOf("first", "a", "defect 1", "bad", "b", "defect 2", "c");
  new FakeTranscoder().transcode(batch, 0, 1, rows);
  const { next, refusals } = transcodeContained(new FailingTranscoder(), batch, 1, 7, rows, (error, messages) =>
    told.push([error, messages]),
  );
  expect(next).toBe(7);
  expect([...refusals].map(([message, { code }]) => [message, code])).toEqual([
    [2, "INTERNAL_ERROR"],
    [3, "TYPE_MISMATCH"],
    [5, "INTERNAL_ERROR"],
  ]);
  expect([0, 1, 2, 3].map((row) => [rows.messageOf(row), textOf(rows, row)])).toEqual([
    [0, "first"],
    [1, "a"],
    [4, "b"],
    [6, "c"],
  ]);
  expect(told.map(([error, messages]) => [(error as Error).name, messages])).toEqual([["RangeError", 2]]);
});

test("it ends where the batch of rows is full", () => {
  const rows = new RowBatch(limits);
  const batch = batchOf("defect", "a", "b", "c", "d", "e", "defect");
  const { next, refusals } = transcodeContained(new FailingTranscoder(), batch, 0, 7, rows, () => undefined);
  expect([next, [...refusals.keys()], rows.rowCount]).toEqual([5, [0], 4]);
});

test("of an exception its class and its frames are told, never its words", () => {
  const { type, trace } = traceOf(new TypeError("secret payload\n    at secret second line"));
  expect(type).toBe("TypeError");
  expect(trace.length).toBeGreaterThan(0);
  expect(trace.join("\n")).not.toContain("secret");
  expect(traceOf("secret")).toEqual({ type: "string", trace: [] });
});

test("the destination refuses the message, logs where it was raised, and goes on", async () => {
  const rig = new DestinationRig();
  const lines: string[] = [];
  rig.compile = (fields) => new FailingTranscoder(fields);
  const to = await rig.opened({ log: pino({ level: "error" }, { write: (line) => void lines.push(line) }) });
  rig.service.react = () => stored;
  const delivered = rig.deliver(to, ["a", "defect with a secret", "b"]);
  await rig.clock.advance(20);
  expect(fates(delivered)).toEqual(["durable", "INTERNAL_ERROR", "durable"]);
  expect(delivered.outcomes!.at(1)).toMatchObject({ refusal: { message: /defect of Millrace/ } });
  expect(rig.last().rows).toEqual(["a", "b"]);
  expect(rig.events).toContain("refused INTERNAL_ERROR 1");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ type: "RangeError", messages: 1 });
  expect(lines[0]).not.toContain("secret");
});
