/** The keys of objects, one after the other: guessed where they come in the order of the last time, else looked up. */
import * as ascii from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import type { KeySet } from "../read/key-set.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import type { Key } from "./key-table.ts";
import type { RecordStep } from "./record-step.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { closeBrace, comma, openBrace, quote } = ascii;

export class KeyWalk {
  readonly #reader: JsonReader;
  /** Takes the keys that have neither a column nor a slot by which their record would remember them. */
  readonly #unmarked: KeySet;
  readonly #dropUnknownFields: boolean;
  /** Where what follows the colon behind the last key begins. */
  valueAt = 0;

  /** @param unmarked is cleared for every payload by whoever owns it */
  constructor(reader: JsonReader, unmarked: KeySet, dropUnknownFields: boolean) {
    this.#reader = reader;
    this.#unmarked = unmarked;
    this.#dropUnknownFields = dropUnknownFields;
  }

  /** Steps over a separator and the blanks around it. Returns where a key or the closing brace must stand. */
  next(separator: number, at: number): number {
    const reader = this.#reader;
    if (separator === openBrace) return reader.skipBlanks(at + 1);
    at = reader.skipBlanks(at);
    const next = reader.peek(at);
    if (next === closeBrace) return at;
    if (next !== comma) reader.fail(at, "a comma or a closing brace");
    at = reader.skipBlanks(at + 1);
    if (reader.peek(at) !== quote) reader.fail(at, "a key in quotes");
    return at;
  }

  /** The key that stands at `at`, behind `previous`. Sets `valueAt`. */
  read(record: RecordStep, visit: number, previous: Key, at: number): Key {
    const reader = this.#reader;
    // Behind blanks the guess may be right all the same; or the guessed member is absent, and the one behind it comes.
    const guess = previous.next;
    const likely = guess?.isAt(reader.view, at, reader.end) ? guess : guess?.next;
    if (likely?.isAt(reader.view, at, reader.end)) {
      this.valueAt = at + likely.length;
      return likely;
    }
    const key = this.#lookUp(record, visit, previous, at);
    if (key !== record.stray) previous.next = key;
    return key;
  }

  #lookUp(record: RecordStep, visit: number, previous: Key, at: number): Key {
    const reader = this.#reader;
    if (reader.peek(at) !== quote) reader.fail(at, "a key in quotes");
    const close = reader.scanKey(at + 1);
    const bytes = reader.escaped ? reader.scratch : reader.bytes;
    const start = reader.escaped ? 0 : at + 1;
    const end = start + reader.keyLength;
    const key = record.keys.find(reader.hash, bytes, start, end) ?? this.#meet(record, bytes, start, end, at);
    if (key === undefined && !this.#unmarked.add(record.beginStray(visit, previous, this.#unmarked), at + 1, close)) {
      failDuplicate(at);
    }
    this.valueAt = reader.skipColon(close + 1);
    return key ?? record.stray;
  }

  /** A spelling that is met for the first time, at `at` in the payload. */
  #meet(record: RecordStep, bytes: Buffer, start: number, end: number, at: number): Key | undefined {
    const step = record.keys.columnOf(bytes.toString("utf8", start, end));
    if (step === undefined && !this.#dropUnknownFields) failUnknown(at);
    return record.keys.learn(bytes, start, end, step);
  }
}

/** @param at where the second of two keys begins, or its value */
export function failDuplicate(at: number): never {
  throw new PayloadFault("DUPLICATE_FIELD", "the field comes twice in one object", at);
}

function failUnknown(at: number): never {
  throw new PayloadFault("UNKNOWN_FIELD", "the table has no such column", at);
}
