/** Holds the transcoder and the slow path side by side: the same rows, and the same refusals. */
import { isDeepStrictEqual } from "node:util";
import type protobuf from "protobufjs";
import type { Refusal } from "../../src/errors.ts";
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import type { TableSchema } from "../../src/schema/table-schema.ts";
import { createTranscoder, type Transcoder } from "../../src/transcode/transcoder.ts";
import { RowBatch } from "../../src/write/row-batch.ts";
import { PayloadBatch, type Envelope } from "./payload-batch.ts";
import { readRowAt, RowReader } from "./row-reader.ts";
import { slowTranscode, type SlowResult } from "./slow-path.ts";
import { messageType, readRow, rowShape, writeRow, type FieldShape } from "./slow-row.ts";

const bare: Envelope = { messageId: "1", publishTimeMicros: 0n, attributes: new Map(), orderingKey: "" };

/** Of one table and one set of options. */
export class Agreement {
  readonly #table: TableSchema;
  readonly #options: MappingOptions;
  readonly #transcoder: Transcoder;
  readonly #reader: RowReader;
  readonly #slowType: protobuf.Type;
  /** Small, so that it is often full: the transcoder must go on where it stopped. */
  readonly #rows = new RowBatch({ maxBytes: 2048, maxRows: 20, maxRequestBytes: 9_437_184 });
  /** How many messages became rows. */
  rowCount = 0;

  constructor(table: TableSchema, options: MappingOptions) {
    this.#table = table;
    this.#options = options;
    this.#transcoder = createTranscoder(table, options);
    this.#reader = new RowReader(this.#transcoder.descriptor.bytes);
    const shape = rowShape(table, options.missingValues);
    this.#slowType = messageType(shape);
    this.#same("the descriptor", withoutPacking(this.#reader.shape), shape);
  }

  /** Transcodes messages that share an envelope. Throws at the first that the two disagree on. */
  check(payloads: readonly Uint8Array[], envelope: Envelope = bare): void {
    const results = this.#transcode(new PayloadBatch(payloads, envelope));
    for (const [i, payload] of payloads.entries()) {
      const slow = slowTranscode(this.#table, this.#options, { ...envelope, data: payload });
      if ("row" in slow) this.rowCount++;
      this.#same(`message ${i}, ${inspect(payload)}`, results[i], this.#written(slow));
    }
  }

  /** What the slow path's row reads like after it went over the wire. */
  #written(slow: SlowResult): SlowResult {
    return "row" in slow ? { row: readRow(this.#slowType, writeRow(this.#slowType, slow.row)) } : slow;
  }

  /** One row or refusal per message, however many batches of rows it takes. */
  #transcode(batch: PayloadBatch): readonly unknown[] {
    const results: unknown[] = [];
    let next = 0;
    while (next < batch.length) {
      this.#rows.clear();
      const done = this.#transcoder.transcode(batch, next, batch.length, this.#rows);
      if (done.next <= next) throw new Error(`no way forward from message ${next}`);
      for (const [message, refusal] of done.refusals) results[message] = outcomeOf(refusal);
      for (let row = 0; row < this.#rows.rowCount; row++)
        results[this.#rows.messageOf(row)] = { row: readRowAt(this.#reader, this.#rows, row) };
      next = done.next;
    }
    return results;
  }

  #same(what: string, transcoded: unknown, slow: unknown): void {
    if (isDeepStrictEqual(transcoded, slow)) return;
    const sides = `transcoder: ${show(transcoded)}\nslow path:  ${show(slow)}`;
    const setting = `table: ${show(this.#table.columns)}\noptions: ${show(this.#options)}`;
    throw new Error(`disagreement on ${what}\n${sides}\n${setting}`);
  }
}

function outcomeOf(refusal: Refusal): { code: string; path: string } {
  return { code: refusal.code, path: refusal.path };
}

function withoutPacking(shape: readonly FieldShape[]): readonly FieldShape[] {
  return shape.map((field) => ({ ...field, packed: false, fields: withoutPacking(field.fields) }));
}

/** Test data may be shown: as text where it is text, with the bytes beside it. */
function inspect(payload: Uint8Array): string {
  return `${JSON.stringify(Buffer.from(payload).toString())}\nbase64: ${Buffer.from(payload).toString("base64")}`;
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    Number.isNaN(part) ? "NaN" : Object.is(part, -0) ? "-0" : part,
  );
}
