/** Which REQUIRED column lacks a value: found by a second walk over a payload that is sound in every other way. */
import { closeBrace, closeBracket, comma, letterN, openBrace, openBracket } from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { keyText } from "../read/json-path.ts";
import { JsonValueScan } from "../read/json-value.ts";
import type { ColumnStep, RecordStep } from "./record-step.ts";

/** The first column in the order of the table, as a candidate among those of one object. */
interface Candidate {
  readonly slot: number;
  readonly path: string;
}

export class MissingField {
  readonly #reader: JsonReader;
  readonly #values: JsonValueScan;
  /** Behind what was walked last. */
  #position = 0;

  constructor(reader: JsonReader) {
    this.#reader = reader;
    this.#values = new JsonValueScan(reader);
  }

  /** The path of the first REQUIRED column, in the order of the table, that the payload at `start` has no value for. */
  pathIn(record: RecordStep, start: number): string {
    return this.#inObject(record, this.#reader.skipBlanks(start), "") ?? "";
  }

  #inObject(record: RecordStep, at: number, path: string): string | undefined {
    const reader = this.#reader;
    const present = new Set<number>();
    let best: Candidate | undefined;
    at = reader.skipBlanks(at + 1);
    while (reader.peek(at) !== closeBrace) {
      if (reader.peek(at) === comma) at = reader.skipBlanks(at + 1);
      const close = reader.scanText(at + 1);
      const name = keyText(reader, at + 1, close);
      const step = record.keys.columnOf(name);
      const missing = this.#inValue(step, reader.skipColon(close + 1), join(path, name));
      if (step) present.add(step.slot);
      if (step && missing !== undefined) best = earlier(best, { slot: step.slot, path: missing });
      at = reader.skipBlanks(this.#position);
    }
    this.#position = at + 1;
    const absent = record.required.find((step) => !present.has(step.slot));
    if (absent) best = earlier(best, { slot: absent.slot, path: join(path, absent.plan.column.name) });
    return best?.path;
  }

  /** Walks the value at `at`. */
  #inValue(step: ColumnStep | undefined, at: number, path: string): string | undefined {
    const character = this.#reader.peek(at);
    if (step?.record && character === openBrace) return this.#inObject(step.record, at, path);
    if (step?.record && character === openBracket) return this.#inArray(step.record, at, path);
    this.#position = this.#values.scan(at, 0);
    return character === letterN && step?.onNull === "missing" ? path : undefined;
  }

  #inArray(record: RecordStep, at: number, path: string): string | undefined {
    const reader = this.#reader;
    let first: string | undefined;
    at = reader.skipBlanks(at + 1);
    for (let index = 0; reader.peek(at) !== closeBracket; index++) {
      const missing = this.#inObject(record, at, `${path}[${index}]`);
      first ??= missing;
      at = reader.skipBlanks(this.#position);
      if (reader.peek(at) === comma) at = reader.skipBlanks(at + 1);
    }
    this.#position = at + 1;
    return first;
  }
}

function earlier(a: Candidate | undefined, b: Candidate): Candidate {
  return a && a.slot < b.slot ? a : b;
}

function join(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}
