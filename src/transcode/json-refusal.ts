/** From the fault that stopped a walk to the refusal of the message. */
import type { Refusal } from "../errors.ts";
import { pathOf } from "../read/json-path.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { JsonValueScan } from "../read/json-value.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import { MissingField } from "./missing-field.ts";
import type { RecordStep } from "./record-step.ts";

export class JsonRefusals {
  readonly #reader: JsonReader;
  readonly #syntax: JsonValueScan;
  readonly #missing: MissingField;

  constructor(reader: JsonReader) {
    this.#reader = reader;
    this.#syntax = new JsonValueScan(reader);
    this.#missing = new MissingField(reader);
  }

  /** The refusal for what a walk over the payload at `start` threw. A malformed payload is refused as such, whatever else is wrong with it. */
  ofFault(fault: PayloadFault, start: number): Refusal {
    const malformed = fault.code === "MALFORMED_PAYLOAD" ? fault : this.#syntaxFault(start);
    if (malformed) return ofMalformed(malformed, start);
    const outer = pathOf(this.#reader, start, fault.offset);
    return refusal(fault.code, fault.message, joinInner(outer, fault.innerPath));
  }

  /** The refusal of a payload that lacks a REQUIRED value. */
  ofMissing(record: RecordStep, start: number): Refusal {
    const path = this.#missing.pathIn(record, start);
    return refusal("MISSING_REQUIRED", "a REQUIRED column has no value", path);
  }

  #syntaxFault(start: number): PayloadFault | undefined {
    const reader = this.#reader;
    try {
      reader.finish(this.#syntax.scan(reader.skipBlanks(start), 0));
      return undefined;
    } catch (error) {
      if (error instanceof PayloadFault) return error;
      throw error;
    }
  }
}

function ofMalformed(fault: PayloadFault, start: number): Refusal {
  return refusal("MALFORMED_PAYLOAD", `${fault.message} (byte ${fault.offset - start})`, "");
}

function joinInner(outer: string, inner: string): string {
  return outer === "" || inner === "" || inner.startsWith("[") ? outer + inner : `${outer}.${inner}`;
}

function refusal(code: Refusal["code"], message: string, path: string): Refusal {
  return { code, path, message, stage: "transcode" };
}
