/**
 * Values of JSON columns. BigQuery takes JSON text, but changes some of it in silence: it keeps one of two members with the same
 * key, and numbers as doubles but for integers from −2^63 to 2^64 − 1. Such values are refused here.
 */
import type { JsonReader } from "./json-reader.ts";
import { jsonNumberFate } from "./json-number.ts";
import { JsonValueScan, type ValueRules } from "./json-value.ts";
import { KeySet } from "./key-set.ts";
import { PayloadFault } from "./payload-fault.ts";

/** Levels of objects and arrays that BigQuery takes. */
const maxColumnDepth = 500;

export class JsonColumnScan {
  readonly #keys: KeySet;
  readonly #scan: JsonValueScan;

  /** @param rounds numbers that are no doubles are let through: BigQuery rounds them */
  constructor(reader: JsonReader, rounds: boolean) {
    this.#keys = new KeySet(reader);
    this.#scan = new JsonValueScan(reader, new ColumnRules(reader, this.#keys, rounds));
  }

  /**
   * Checks the value that begins at `at`.
   *
   * @param outerDepth levels of the payload around the value
   * @returns the offset behind the value
   * @throws PayloadFault
   */
  scan(at: number, outerDepth: number): number {
    this.#keys.clear();
    return this.#scan.scan(at, outerDepth);
  }
}

class ColumnRules implements ValueRules {
  readonly #reader: JsonReader;
  readonly #keys: KeySet;
  readonly #rounds: boolean;

  constructor(reader: JsonReader, keys: KeySet, rounds: boolean) {
    this.#reader = reader;
    this.#keys = keys;
    this.#rounds = rounds;
  }

  checkDepth(depth: number, at: number): void {
    if (depth <= maxColumnDepth) return;
    throw new PayloadFault("OUT_OF_RANGE", `JSON columns hold at most ${maxColumnDepth} levels of nesting`, at);
  }

  beginObject(): number {
    return this.#keys.beginObject();
  }

  checkKey(object: number, start: number, close: number): void {
    if (this.#keys.add(object, start, close)) return;
    throw new PayloadFault(
      "DUPLICATE_FIELD",
      "the key comes twice in one object; JSON columns keep only one",
      start - 1,
    );
  }

  checkNumber(start: number, end: number): void {
    const fate = jsonNumberFate(this.#reader.bytes, start, end);
    if (fate === "exact") return;
    if (fate === "tooLarge") throw new PayloadFault("OUT_OF_RANGE", "the number is larger than every FLOAT64", start);
    if (this.#rounds) return;
    throw new PayloadFault(
      "PRECISION_LOSS",
      "JSON columns keep integers from −2^63 to 2^64 − 1 and the digits of a FLOAT64",
      start,
    );
  }
}
