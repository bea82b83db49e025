/** Messages in, rows out: the one interface between payload bytes and the append path. */
import type { Refusal } from "../errors.ts";
import { planMapping, takesDefault, type MappingOptions, type MappingPlan } from "../mapping/mapping-plan.ts";
import type { MessageBatch } from "../message.ts";
import type { Column, TableSchema } from "../schema/table-schema.ts";
import type { RowBatch } from "../write/row-batch.ts";
import { describeRow, type RowDescriptor } from "../write/row-descriptor.ts";
import { RowOverflow, type WireWriter } from "../write/wire-writer.ts";
import { JsonPayloadWriter } from "./json-payload-writer.ts";
import { MetadataWriter } from "./metadata-writer.ts";
import { rowTooLarge, type PayloadWriter } from "./payload-writer.ts";
import { RawPayloadWriter } from "./raw-payload-writer.ts";

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
  /** REPEATED columns with a default: without elements they are empty, they do not take it (`missingValues: default`). */
  readonly emptyWhenMissing: readonly string[];
  /** Writes the messages `from` ≤ i < `to` of a batch as rows, in order, until `rows` is full. */
  transcode(batch: MessageBatch, from: number, to: number, rows: RowBatch): Transcoded;
}

/**
 * Compiles what turns messages into rows of a table.
 *
 * @throws SetupError naming every reason why the mapping cannot be
 */
export function createTranscoder(table: TableSchema, options: MappingOptions): Transcoder {
  return new PlannedTranscoder(table, planMapping(table, options));
}

const noRefusals: ReadonlyMap<number, Refusal> = new Map();

class PlannedTranscoder implements Transcoder {
  readonly descriptor: RowDescriptor;
  readonly missingValues: "null" | "default";
  readonly emptyWhenMissing: readonly string[];
  readonly #payload: PayloadWriter;
  readonly #metadata: MetadataWriter | undefined;

  constructor(table: TableSchema, plan: MappingPlan) {
    const { missingValues } = plan.options;
    this.missingValues = missingValues;
    const mayTakeDefault = (column: Column): boolean => takesDefault(column, missingValues);
    this.descriptor = describeRow(table.columns, mayTakeDefault);
    const arrays = table.columns.filter((column) => column.mode === "REPEATED" && mayTakeDefault(column));
    this.emptyWhenMissing = arrays.map(({ name }) => name);
    this.#payload = plan.raw ? new RawPayloadWriter(plan.raw, plan) : new JsonPayloadWriter(plan);
    if (plan.metadata.length > 0) this.#metadata = new MetadataWriter(plan);
  }

  transcode(batch: MessageBatch, from: number, to: number, rows: RowBatch): Transcoded {
    let refusals: Map<number, Refusal> | undefined;
    this.#payload.open(batch.bytes);
    rows.from(batch);
    let message = from;
    while (message < to && !rows.full) {
      rows.beginRow();
      let refusal = this.#writeRow(batch, message, rows.writer);
      if (refusal) {
        rows.takeBack();
      } else {
        const end = rows.endRow(message);
        if (end === "full") break;
        if (end === "tooLarge") refusal = rowTooLarge;
      }
      if (refusal) (refusals ??= new Map()).set(message, refusal);
      message++;
    }
    return { next: message, refusals: refusals ?? noRefusals };
  }

  #writeRow(batch: MessageBatch, message: number, out: WireWriter): Refusal | undefined {
    try {
      return (
        this.#payload.write(batch.dataStart(message), batch.dataEnd(message), out) ??
        this.#metadata?.write(batch, message, out)
      );
    } catch (error) {
      if (error instanceof RowOverflow) return rowTooLarge;
      throw error;
    }
  }
}
