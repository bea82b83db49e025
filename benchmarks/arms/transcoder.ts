/** Millrace's own way: batches of messages in, batches of rows out, as in the service. */
import { defaultSettings } from "../../src/commands/mapping-request.ts";
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import { createTranscoder, type Transcoder } from "../../src/transcode/transcoder.ts";
import { RowBatch } from "../../src/write/row-batch.ts";
import { PayloadBatch } from "../../test/support/payload-batch.ts";
import { readRowAt, RowReader } from "../../test/support/row-reader.ts";
import type { Row } from "../../test/support/slow-row.ts";
import type { Arm } from "../arm.ts";
import type { Corpus } from "../corpus.ts";

/** What a configuration file gives that says nothing but `useTableSchema: true`. */
export const defaultOptions: MappingOptions = { ...defaultSettings.options, mode: "table" };

export function transcoder({ table, parts }: Corpus): Arm {
  return new TranscoderArm(createTranscoder(table, defaultOptions), parts);
}

class TranscoderArm implements Arm {
  readonly #transcoder: Transcoder;
  readonly #batches: readonly PayloadBatch[];
  readonly #rows = new RowBatch({ maxBytes: 2 ** 20, maxRows: 50_000, maxRequestBytes: 9 * 2 ** 20 });

  constructor(transcoder: Transcoder, parts: readonly (readonly Buffer[])[]) {
    this.#transcoder = transcoder;
    this.#batches = parts.map((part) => new PayloadBatch(part));
  }

  run(part: number): void {
    this.#transcode(this.#batches[part]!, () => {});
  }

  rows(count: number): readonly Row[] {
    const reader = new RowReader(this.#transcoder.descriptor.bytes);
    const read: Row[] = [];
    for (const batch of this.#batches) {
      if (read.length >= count) break;
      this.#transcode(batch, (rows) => {
        for (let row = 0; row < rows.rowCount; row++) read.push(readRowAt(reader, rows, row));
      });
    }
    return read.slice(0, count);
  }

  /** @param take looks at the rows before their batch is used again */
  #transcode(batch: PayloadBatch, take: (rows: RowBatch) => void): void {
    for (let next = 0; next < batch.length;) {
      this.#rows.clear();
      const { next: reached, refusals } = this.#transcoder.transcode(batch, next, batch.length, this.#rows);
      if (refusals.size > 0) throw new Error(`${refusals.size} messages of the corpus were refused`);
      take(this.#rows);
      next = reached;
    }
  }
}
