/** Payloads through the transcoder, one after the other through the same one, as they come in a stream. */
import type { MappingOptions } from "../../src/mapping/mapping-plan.ts";
import { parseTableSchema } from "../../src/schema/table-schema.ts";
import { createTranscoder } from "../../src/transcode/transcoder.ts";
import { RowBatch, type RowBatchLimits } from "../../src/write/row-batch.ts";
import { PayloadBatch } from "./payload-batch.ts";
import { readRowAt, RowReader } from "./row-reader.ts";
import type { Row } from "./slow-row.ts";
import { tableMode } from "./mapping-options.ts";

export interface MappedPayload {
  readonly row?: Row;
  /** Code and path of the refusal. */
  readonly refused?: string;
}

/**
 * @param fields of the table, as its JSON has them
 * @param limits of the batch of rows, which must hold them all
 * @returns per payload its row, or its refusal as `CODE path`
 */
export function mapped(
  fields: readonly object[],
  payloads: readonly (string | Buffer)[],
  own: Partial<MappingOptions> = {},
  limits: Partial<RowBatchLimits> = {},
): readonly MappedPayload[] {
  const transcoder = createTranscoder(parseTableSchema(fields), { ...tableMode, ...own });
  const rows = new RowBatch({ maxBytes: 2 ** 26, maxRows: payloads.length, maxRequestBytes: 2 ** 27, ...limits });
  const batch = new PayloadBatch(payloads.map((payload) => Buffer.from(payload)));
  const { refusals } = transcoder.transcode(batch, 0, batch.length, rows);
  const reader = new RowReader(transcoder.descriptor.bytes);
  const results: MappedPayload[] = [];
  for (let row = 0; row < rows.rowCount; row++) results[rows.messageOf(row)] = { row: readRowAt(reader, rows, row) };
  for (const [message, { code, path }] of refusals) results[message] = { refused: `${code} ${path}` };
  return results;
}
