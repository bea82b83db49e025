/**
 * A transcoder that writes each payload as a row of one short string, and refuses what it is told to: a payload that
 * begins with `bad` always, one that begins with `field NAME` as long as it does not know the field.
 */
import type { Refusal } from "../../src/errors.ts";
import type { MessageBatch } from "../../src/message.ts";
import type { Transcoded, Transcoder } from "../../src/transcode/transcoder.ts";
import type { RowBatch } from "../../src/write/row-batch.ts";

export class FakeTranscoder implements Transcoder {
  readonly descriptor: Transcoder["descriptor"];
  readonly missingValues: "null" | "default";
  readonly emptyWhenMissing: readonly string[] = [];
  readonly #fields: ReadonlySet<string>;

  constructor(fields: readonly string[] = [], missingValues: "null" | "default" = "null") {
    this.#fields = new Set(fields);
    this.missingValues = missingValues;
    const name = Buffer.from(descriptorName(fields));
    // DescriptorProto.name is field 1.
    this.descriptor = { bytes: Buffer.concat([Buffer.from([0x0a, name.length]), name]), json: {} };
  }

  transcode(batch: MessageBatch, from: number, to: number, rows: RowBatch): Transcoded {
    const refusals = new Map<number, Refusal>();
    let message = from;
    for (; message < to && !rows.full; message++) {
      const start = batch.dataStart(message);
      const end = batch.dataEnd(message);
      const refusal = this.#refusalOf(batch.bytes.toString("utf8", start, end));
      if (refusal) {
        refusals.set(message, refusal);
        continue;
      }
      rows.beginRow();
      rows.writer.bytes[rows.writer.position++] = 0x0a;
      rows.writer.lengthDelimited(batch.bytes, start, end);
      const stored = rows.endRow(message);
      if (stored === "full") break;
      if (stored === "tooLarge") refusals.set(message, refusalOf("ROW_TOO_LARGE"));
    }
    return { next: message, refusals };
  }

  #refusalOf(payload: string): Refusal | undefined {
    if (payload.startsWith("bad")) return refusalOf("TYPE_MISMATCH");
    const [, field] = /^field (\w+)/.exec(payload) ?? [];
    return field !== undefined && !this.#fields.has(field) ? refusalOf("UNKNOWN_FIELD") : undefined;
  }
}

/** Name in the descriptor of a transcoder that knows these fields. */
function descriptorName(fields: readonly string[]): string {
  return ["row", ...fields].join("_");
}

function refusalOf(code: Refusal["code"]): Refusal {
  return { code, path: "", stage: "transcode", message: "refused by the test" };
}
