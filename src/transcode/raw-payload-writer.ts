import type { Fault, Refusal } from "../errors.ts";
import type { ColumnPlan, MappingPlan } from "../mapping/mapping-plan.ts";
import { JsonColumnScan } from "../read/json-column.ts";
import { JsonReader } from "../read/json-reader.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import { isValidUtf8 } from "../read/utf8.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { JsonRefusals } from "./json-refusal.ts";
import type { PayloadWriter } from "./payload-writer.ts";

/** The whole payload into the column `data` of BYTES, STRING or JSON (BQ-NS-01). */
export class RawPayloadWriter implements PayloadWriter {
  readonly #reader = new JsonReader();
  readonly #plan: ColumnPlan;
  readonly #tag: number;
  readonly #json: JsonColumnScan;
  readonly #refusals = new JsonRefusals(this.#reader);

  constructor(plan: ColumnPlan, { options }: MappingPlan) {
    this.#plan = plan;
    this.#tag = plan.number * 8 + 2;
    this.#json = new JsonColumnScan(this.#reader, options.onPrecisionLoss === "round");
  }

  open(bytes: Buffer): void {
    this.#reader.open(bytes, 0);
  }

  write(start: number, end: number, out: WireWriter): Refusal | undefined {
    this.#reader.end = end;
    out.varint32(this.#tag);
    switch (this.#plan.column.type) {
      case "JSON":
        return this.#writeJson(start, end, out);
      case "STRING":
        return this.#writeText(start, end, out);
      default:
        return this.#writeBytes(start, end, out);
    }
  }

  #writeJson(start: number, end: number, out: WireWriter): Refusal | undefined {
    const reader = this.#reader;
    try {
      reader.finish(this.#json.scan(reader.skipBlanks(start), 0));
    } catch (error) {
      if (error instanceof PayloadFault) return this.#refusals.ofFault(error, start);
      throw error;
    }
    out.lengthDelimited(reader.bytes, start, end);
    return undefined;
  }

  #writeText(start: number, end: number, out: WireWriter): Refusal | undefined {
    const bytes = this.#reader.bytes;
    if (!isValidUtf8(bytes, start, end)) {
      return refusal({ code: "MALFORMED_PAYLOAD", message: "the payload is not valid UTF-8" });
    }
    const fault = this.#plan.conversions["json text"]!(bytes, start, end, out);
    return fault && refusal(fault);
  }

  #writeBytes(start: number, end: number, out: WireWriter): Refusal | undefined {
    const { maxLength } = this.#plan.column;
    if (maxLength !== undefined && end - start > maxLength) {
      const message = `BYTES(${maxLength}) holds at most ${maxLength} bytes; got ${end - start}`;
      return refusal({ code: "OUT_OF_RANGE", message });
    }
    out.lengthDelimited(this.#reader.bytes, start, end);
    return undefined;
  }
}

function refusal({ code, message }: Fault): Refusal {
  return { code, path: "", message, stage: "transcode" };
}
