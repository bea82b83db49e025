import type { Refusal } from "../errors.ts";
import type { MappingPlan } from "../mapping/mapping-plan.ts";
import { JsonReader } from "../read/json-reader.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import { RowOverflow, type WireWriter } from "../write/wire-writer.ts";
import { JsonRefusals } from "./json-refusal.ts";
import { JsonWalk } from "./json-walk.ts";
import { rowTooLarge, type PayloadWriter } from "./payload-writer.ts";
import { RecordStep } from "./record-step.ts";

/** JSON objects whose members are the columns of the table (BQ-TBL-01). */
export class JsonPayloadWriter implements PayloadWriter {
  readonly #reader = new JsonReader();
  readonly #record: RecordStep;
  readonly #walk: JsonWalk;
  readonly #refusals = new JsonRefusals(this.#reader);

  constructor({ fields, options }: MappingPlan) {
    this.#record = new RecordStep(fields, 1);
    this.#walk = new JsonWalk(this.#reader, {
      dropUnknownFields: options.dropUnknownFields,
      rounds: options.onPrecisionLoss === "round",
    });
  }

  open(bytes: Buffer): void {
    this.#reader.open(bytes, 0);
  }

  write(start: number, end: number, out: WireWriter): Refusal | undefined {
    this.#reader.end = end;
    try {
      if (this.#walk.write(this.#record, start, out)) return undefined;
      return this.#refusals.ofMissing(this.#record, start);
    } catch (error) {
      if (error instanceof PayloadFault) return this.#refusals.ofFault(error, start);
      if (error instanceof RowOverflow) return this.#refusals.ofFault(tooLarge(start), start);
      throw error;
    }
  }
}

function tooLarge(start: number): PayloadFault {
  return new PayloadFault(rowTooLarge.code, rowTooLarge.message, start);
}
