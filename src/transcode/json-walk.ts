/**
 * The heart: one walk over a JSON payload that writes the row as it goes. Nothing is allocated; what to do with each member was decided
 * when the table's schema was compiled into steps.
 */
import type { Fault, RefusalCode } from "../errors.ts";
import { kindMismatch, noArray } from "../mapping/mapping-plan.ts";
import type { FieldKind } from "../schema/field.ts";
import {
  closeBrace,
  closeBracket,
  comma,
  letterF,
  letterN,
  letterT,
  minus,
  openBrace,
  openBracket,
  quote,
  zero,
} from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { KeySet } from "../read/key-set.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { DroppedValues } from "./dropped-values.ts";
import { JsonCells } from "./json-cells.ts";
import type { Key } from "./key-table.ts";
import { isRangeInOrder } from "./range-order.ts";
import type { ColumnStep, RecordStep } from "./record-step.ts";
import { copyDouble, copyInteger } from "./number-copy.ts";
import { copyText } from "./text-copy.ts";

export interface JsonWalkOptions {
  readonly dropUnknownFields: boolean;
  /** Numbers in JSON columns that are no doubles are let through. */
  readonly rounds: boolean;
}

export class JsonWalk {
  readonly #reader: JsonReader;
  readonly #dropUnknownFields: boolean;
  readonly #cells: JsonCells;
  readonly #dropped: DroppedValues;
  /** Keys of the payload that have no column, and no slot by which they are remembered. */
  readonly #strays: KeySet;
  #out!: WireWriter;
  /** Where the value begins whose key `#unguessedKey` read. */
  #valueAt = 0;
  #hasMissing = false;

  constructor(reader: JsonReader, options: JsonWalkOptions) {
    this.#reader = reader;
    this.#dropUnknownFields = options.dropUnknownFields;
    this.#cells = new JsonCells(reader, options.rounds);
    this.#strays = new KeySet(reader);
    this.#dropped = new DroppedValues(reader, this.#strays);
  }

  /**
   * Writes the payload that begins at `start` and goes on to the reader's end.
   *
   * @returns false when a REQUIRED column has no value; then what was written is no row
   * @throws PayloadFault
   */
  write(record: RecordStep, start: number, out: WireWriter): boolean {
    const reader = this.#reader;
    this.#out = out;
    this.#hasMissing = false;
    this.#strays.clear();
    const at = reader.skipBlanks(start);
    if (reader.peek(at) !== openBrace) reader.fail(at, "an object");
    reader.finish(this.#object(record, at + 1));
    return !this.#hasMissing;
  }

  /** The members of an object, from behind its opening brace. Returns the offset behind the closing one. */
  #object(record: RecordStep, at: number): number {
    const reader = this.#reader;
    const { view, end } = reader;
    const seenIn = record.seenIn;
    const visit = record.beginVisit();
    const fieldsAt = this.#out.position;
    let key = record.start;
    let lastSlot = -1;
    let inOrder = true;
    at = reader.skipBlanks(at);
    let next = reader.peek(at);
    while (next !== closeBrace) {
      const keyAt = at;
      const guess = key.next;
      if (guess !== undefined && guess.isAt(view, at, end)) {
        key = guess;
        at = reader.skipBlanks(at + guess.length);
      } else {
        key = this.#unguessedKey(record, visit, key, at);
        at = this.#valueAt;
      }
      const slot = key.slot;
      if (seenIn[slot] === visit) this.#fail("DUPLICATE_FIELD", "the field comes twice in one object", keyAt);
      seenIn[slot] = visit;
      const step = key.step;
      if (step === undefined) {
        at = this.#dropped.skip(at, record.depth);
      } else {
        if (slot < lastSlot) inOrder = false;
        lastSlot = slot;
        at = this.#member(step, at);
      }
      at = reader.skipBlanks(at);
      next = reader.peek(at);
      if (next === comma) at = reader.skipBlanks(at + 1);
      else if (next !== closeBrace) reader.fail(at, "a comma or a closing brace");
    }
    if (!inOrder) record.order.restore(this.#out, fieldsAt);
    if (!record.isComplete(visit)) this.#hasMissing = true;
    return at + 1;
  }

  /** The key behind `previous`, which is not the one that followed it the last time. Sets `#valueAt`. */
  #unguessedKey(record: RecordStep, visit: number, previous: Key, at: number): Key {
    const reader = this.#reader;
    // The guessed member may just be absent.
    const afterGuess = previous.next?.next;
    if (afterGuess?.isAt(reader.view, at, reader.end)) {
      this.#valueAt = reader.skipBlanks(at + afterGuess.length);
      return afterGuess;
    }
    const key = this.#lookUpKey(record, visit, previous, at);
    if (key !== record.stray) previous.next = key;
    return key;
  }

  #lookUpKey(record: RecordStep, visit: number, previous: Key, at: number): Key {
    const reader = this.#reader;
    if (reader.peek(at) !== quote) reader.fail(at, "a key in quotes");
    const close = reader.scanKey(at + 1);
    const bytes = reader.escaped ? reader.scratch : reader.bytes;
    const start = reader.escaped ? 0 : at + 1;
    const end = start + reader.keyLength;
    const key = record.keys.find(reader.hash, bytes, start, end) ?? this.#newKey(record, bytes, start, end, at);
    if (key === undefined && !this.#strays.add(record.beginStray(visit, previous, this.#strays), at + 1, close)) {
      this.#fail("DUPLICATE_FIELD", "the field comes twice in one object", at);
    }
    this.#valueAt = reader.skipColon(close + 1);
    return key ?? record.stray;
  }

  /** A spelling that is met for the first time, at `at` in the payload. */
  #newKey(record: RecordStep, bytes: Buffer, start: number, end: number, at: number): Key | undefined {
    const step = record.keys.columnOf(bytes.toString("utf8", start, end));
    if (step === undefined && !this.#dropUnknownFields) this.#fail("UNKNOWN_FIELD", "the table has no such column", at);
    return record.keys.learn(bytes, start, end, step);
  }

  /** The value of a column of any mode. */
  #member(step: ColumnStep, at: number): number {
    const character = this.#reader.peek(at);
    if (character === letterN) return this.#null(step, at);
    if (step.repeated) return this.#array(step, at, character);
    this.#out.varint32(step.tag);
    return this.#value(step, at, character);
  }

  #null(step: ColumnStep, at: number): number {
    const end = this.#reader.scanNull(at);
    if (step.onNull === "missing") this.#hasMissing = true;
    if (step.onNull === "keep" && !step.repeated) this.#jsonNull(step, at, end);
    return end;
  }

  #jsonNull(step: ColumnStep, at: number, end: number): void {
    this.#out.varint32(step.tag);
    this.#out.lengthDelimited(this.#reader.bytes, at, end);
  }

  #array(step: ColumnStep, at: number, character: number): number {
    const reader = this.#reader;
    const out = this.#out;
    if (character !== openBracket) this.#refuse(noArray(step.plan), at);
    at = reader.skipBlanks(at + 1);
    if (reader.peek(at) === closeBracket) return at + 1;
    let part = 0;
    if (step.packed) {
      out.varint32(step.tag);
      part = out.fork(step.packedWidth);
    }
    for (;;) {
      at = reader.skipBlanks(this.#element(step, at));
      const next = reader.peek(at);
      if (next === closeBracket) break;
      if (next !== comma) reader.fail(at, "a comma or a closing bracket");
      at = reader.skipBlanks(at + 1);
    }
    if (step.packed) step.packedWidth = out.join(part, step.packedWidth);
    return at + 1;
  }

  #element(step: ColumnStep, at: number): number {
    const character = this.#reader.peek(at);
    if (character === letterN) return this.#nullElement(step, at);
    if (!step.packed) this.#out.varint32(step.tag);
    return this.#value(step, at, character);
  }

  #nullElement(step: ColumnStep, at: number): number {
    const end = this.#reader.scanNull(at);
    if (step.onNull !== "keep") this.#fail("NULL_IN_ARRAY", "an array holds no null", at);
    this.#jsonNull(step, at, end);
    return end;
  }

  /** One value that is not null; its tag is written. */
  #value(step: ColumnStep, at: number, character: number): number {
    switch (step.form) {
      case "text":
        if (character === quote) return copyText(this.#reader, at + 1, this.#out);
        return this.#scalar(step, at, character);
      case "integer":
        return this.#integer(step, at, character);
      case "double":
        return this.#double(step, at, character);
      case "scalar":
        return this.#scalar(step, at, character);
      case "json":
        return this.#cells.write(at, character, step.depth, this.#out);
      case "record":
      case "range":
        return this.#record(step, at, character);
    }
  }

  #integer(step: ColumnStep, at: number, character: number): number {
    const end = startsNumber(character) ? copyInteger(this.#reader, at, this.#out) : -1;
    return end < 0 ? this.#scalar(step, at, character) : end;
  }

  #double(step: ColumnStep, at: number, character: number): number {
    const end = startsNumber(character) ? copyDouble(this.#reader, at, this.#out) : -1;
    return end < 0 ? this.#scalar(step, at, character) : end;
  }

  #scalar(step: ColumnStep, at: number, character: number): number {
    const reader = this.#reader;
    let end: number;
    let fault: Fault | undefined;
    if (character === quote) {
      end = reader.scanText(at + 1);
      fault = reader.escaped ? this.#resolvedText(step, at + 1, end) : step.text(reader.bytes, at + 1, end, this.#out);
      end++;
    } else if (startsNumber(character)) {
      end = reader.scanNumber(at);
      fault = step.number(reader.bytes, at, end, this.#out);
    } else if (character === letterT || character === letterF) {
      end = reader.scanBoolean(at);
      fault = step.boolean(reader.bytes, at, end, this.#out);
    } else if (character === openBrace && step.object !== undefined) {
      end = this.#dropped.skip(at, step.depth);
      fault = step.object(reader.bytes, at, end, this.#out);
    } else {
      this.#refuse(kindMismatch(kindAt(reader, at), step.plan), at);
    }
    if (fault !== undefined) this.#refuse(fault, at);
    return end;
  }

  /** A text with escapes. */
  #resolvedText(step: ColumnStep, start: number, close: number): Fault | undefined {
    const length = this.#reader.resolve(start, close);
    return step.text(this.#reader.scratch, 0, length, this.#out);
  }

  /** A STRUCT or a RANGE. */
  #record(step: ColumnStep, at: number, character: number): number {
    const out = this.#out;
    if (character !== openBrace) this.#refuse(kindMismatch(kindAt(this.#reader, at), step.plan), at);
    const part = out.fork(step.lengthWidth);
    const end = this.#object(step.record!, at + 1);
    if (step.form === "range" && !isRangeInOrder(out, part + step.lengthWidth)) {
      this.#fail("OUT_OF_RANGE", "a RANGE starts before it ends", at);
    }
    step.lengthWidth = out.join(part, step.lengthWidth);
    return end;
  }

  #refuse(fault: Fault, at: number): never {
    throw new PayloadFault(fault.code, fault.message, at);
  }

  #fail(code: RefusalCode, message: string, at: number): never {
    throw new PayloadFault(code, message, at);
  }
}

function startsNumber(character: number): boolean {
  return (character - zero) >>> 0 < 10 || character === minus;
}

/** The kind of the value at `at`, which is not null. */
function kindAt(reader: JsonReader, at: number): FieldKind {
  switch (reader.peek(at)) {
    case quote:
      return "json text";
    case openBrace:
      return "json object";
    case openBracket:
      return "json array";
    case letterT:
    case letterF:
      return "json boolean";
    default:
      return "json number";
  }
}
