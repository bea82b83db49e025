/** Values of JSON columns, from the payload to the row. */
import { quote } from "../read/ascii.ts";
import { JsonColumnScan } from "../read/json-column.ts";
import { pathOf } from "../read/json-path.ts";
import { JsonReader } from "../read/json-reader.ts";
import { JsonValueScan } from "../read/json-value.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import type { WireWriter } from "../write/wire-writer.ts";

export class JsonCells {
  readonly #reader: JsonReader;
  readonly #scan: JsonColumnScan;
  /** Reads JSON text that is itself the content of a JSON text. */
  readonly #inner = new JsonReader();
  readonly #innerScan: JsonColumnScan;
  /** Says whether inner text is JSON at all, however deep. */
  readonly #innerSyntax = new JsonValueScan(this.#inner, undefined, Infinity);

  /** @param rounds numbers that BigQuery changes are let through */
  constructor(reader: JsonReader, rounds: boolean) {
    this.#reader = reader;
    this.#scan = new JsonColumnScan(reader, rounds);
    this.#innerScan = new JsonColumnScan(this.#inner, rounds);
  }

  /**
   * Writes the value that begins at `at` with `character`: its source text, or the content of a text, which must be JSON text itself.
   *
   * @param outerDepth levels of the payload around the value
   * @returns the offset behind the value
   * @throws PayloadFault
   */
  write(at: number, character: number, outerDepth: number, out: WireWriter): number {
    if (character === quote) return this.#text(at, out);
    const end = this.#scan.scan(at, outerDepth);
    out.lengthDelimited(this.#reader.bytes, at, end);
    return end;
  }

  #text(at: number, out: WireWriter): number {
    const reader = this.#reader;
    const close = reader.scanText(at + 1);
    if (reader.escaped) {
      const length = reader.resolve(at + 1, close);
      this.#checkInner(reader.scratch, 0, length, at);
      out.lengthDelimited(reader.scratch, 0, length);
    } else {
      this.#checkInner(reader.bytes, at + 1, close, at);
      out.lengthDelimited(reader.bytes, at + 1, close);
    }
    return close + 1;
  }

  /** @param at where the text that holds the inner one begins in the payload */
  #checkInner(bytes: Buffer, start: number, end: number, at: number): void {
    const inner = this.#inner;
    inner.open(bytes, end);
    try {
      inner.finish(this.#innerScan.scan(inner.skipBlanks(start), 0));
    } catch (error) {
      throw error instanceof PayloadFault ? this.#innerFault(error, start, at) : error;
    }
  }

  /** A text that is no JSON is a mismatch, whatever else is wrong with it. */
  #innerFault(fault: PayloadFault, start: number, at: number): PayloadFault {
    const inner = this.#inner;
    try {
      inner.finish(this.#innerSyntax.scan(inner.skipBlanks(start), 0));
    } catch (error) {
      if (!(error instanceof PayloadFault)) throw error;
      return new PayloadFault("TYPE_MISMATCH", "text for a JSON column must itself be JSON text", at);
    }
    return new PayloadFault(fault.code, fault.message, at, pathOf(inner, start, fault.offset));
  }
}
