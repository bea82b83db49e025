/** Messages in, rows out: the one interface between payload bytes and the append path. */
import type { Refusal } from "../errors.ts";
import type { MessageBatch } from "../message.ts";
import type { RowBatch } from "../write/row-batch.ts";
import type { RowDescriptor } from "../write/row-descriptor.ts";

export interface Transcoded {
  /** The first message that was not looked at: `to`, or less when the batch of rows became full before. */
  readonly next: number;
  /** Message index → why it becomes no row. */
  readonly refusals: ReadonlyMap<number, Refusal>;
}

export interface Transcoder {
  /** Describes the rows that `transcode` writes. */
  readonly descriptor: RowDescriptor;
  /** BigQuery fills columns that a row lacks with their defaults (`missingValues: default`). */
  readonly missingValues: "null" | "default";
  /** Writes the messages `from` ≤ i < `to` of a batch as rows, in order, until `rows` is full. */
  transcode(batch: MessageBatch, from: number, to: number, rows: RowBatch): Transcoded;
}
