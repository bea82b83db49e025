/**
 * The heart: one walk over a JSON payload that writes the row as it goes. Nothing is allocated; what to do with each member was decided
 * when the table's schema was compiled into steps.
 */
import type { Fault } from "../errors.ts";
import { kindMismatch, noArray } from "../mapping/mapping-plan.ts";
import type { FieldKind } from "../schema/field.ts";
import * as ascii from "../read/ascii.ts";
import type { JsonReader } from "../read/json-reader.ts";
import { KeySet } from "../read/key-set.ts";
import { PayloadFault } from "../read/payload-fault.ts";
import type { WireWriter } from "../write/wire-writer.ts";
import { DroppedValues } from "./dropped-values.ts";
import { JsonCells } from "./json-cells.ts";
import { failDuplicate, KeyWalk } from "./key-walk.ts";
import { isRangeInOrder } from "./range-order.ts";
import type { ColumnStep, RecordStep } from "./record-step.ts";
import { takeShortcut } from "./shortcuts.ts";
import { writeText } from "./text-writer.ts";

/** Bound here, since the engine folds a module's own constants, and not those that it imports. */
const { closeBrace, closeBracket, comma, letterF, letterN, letterT, minus, openBrace, openBracket, quote, zero } =
  ascii;

export interface JsonWalkOptions {
  readonly dropUnknownFields: boolean;
  /** Numbers in JSON columns that are no doubles are let through. */
  readonly rounds: boolean;
}

const nullInArray: Fault = { code: "NULL_IN_ARRAY", message: "an array holds no null" };
const notInOrder: Fault = { code: "OUT_OF_RANGE", message: "a RANGE starts before it ends" };

export class JsonWalk {
  readonly #reader: JsonReader;
  readonly #keys: KeyWalk;
  readonly #cells: JsonCells;
  readonly #dropped: DroppedValues;
  /** Keys of the payload that are not marked as seen by their record: of dropped values, and strays. */
  readonly #unmarked: KeySet;
  #out!: WireWriter;
  #hasMissing = false;

  constructor(reader: JsonReader, options: JsonWalkOptions) {
    this.#reader = reader;
    this.#unmarked = new KeySet(reader);
    this.#keys = new KeyWalk(reader, this.#unmarked, options.dropUnknownFields);
    this.#cells = new JsonCells(reader, options.rounds);
    this.#dropped = new DroppedValues(reader, this.#unmarked);
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
    this.#unmarked.clear();
    const at = reader.skipBlanks(start);
    if (reader.peek(at) !== openBrace) reader.fail(at, "an object");
    reader.finish(this.#object(record, at));
    return !this.#hasMissing;
  }

  /** The object whose opening brace is at `at`. Returns the offset behind the closing one. */
  #object(record: RecordStep, at: number): number {
    const reader = this.#reader;
    const { bytes, view, end } = reader;
    const seenIn = record.seenIn;
    const visit = record.beginVisit();
    const fieldsAt = this.#out.position;
    let key = record.start;
    let separator = openBrace;
    let lastSlot = -1;
    let inOrder = true;
    for (;;) {
      // What compact JSON has next: the separator, and right behind it the key that came next the last time.
      const guess = key.next;
      const isGuessed = guess !== undefined && at < end && bytes[at] === separator && guess.isAt(view, at + 1, end);
      if (isGuessed) {
        key = guess;
        at += guess.length + 1;
      } else {
        at = this.#keys.next(separator, at);
        if (reader.peek(at) === closeBrace) break;
        key = this.#keys.read(record, visit, key, at);
        at = this.#keys.valueAt;
      }
      separator = comma;
      const slot = key.slot;
      if (seenIn[slot] === visit) failDuplicate(at);
      seenIn[slot] = visit;
      const step = key.step;
      if (step === undefined) {
        at = this.#dropped.skip(reader.skipBlanks(at), record.depth);
        continue;
      }
      if (slot < lastSlot) inOrder = false;
      lastSlot = slot;
      const after = takeShortcut(step.shortcut, reader, at, step.tag, this.#out);
      at = after < 0 ? this.#member(step, reader.skipBlanks(at)) : after;
    }
    if (!inOrder) record.order.restore(this.#out, fieldsAt);
    if (!record.isComplete(visit)) this.#hasMissing = true;
    return at + 1;
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
    const after = takeShortcut(step.elementShortcut, this.#reader, at, step.tag, this.#out);
    if (after >= 0) return after;
    const character = this.#reader.peek(at);
    if (character === letterN) return this.#nullElement(step, at);
    if (!step.packed) this.#out.varint32(step.tag);
    return this.#value(step, at, character);
  }

  #nullElement(step: ColumnStep, at: number): number {
    const end = this.#reader.scanNull(at);
    if (step.onNull !== "keep") this.#refuse(nullInArray, at);
    this.#jsonNull(step, at, end);
    return end;
  }

  /** One value that is not null; its tag is written. */
  #value(step: ColumnStep, at: number, character: number): number {
    switch (step.form) {
      case "text":
        if (character === quote) return writeText(this.#reader, at + 1, this.#out);
        return this.#scalar(step, at, character);
      case "scalar":
        return this.#scalar(step, at, character);
      case "json":
        return this.#cells.write(at, character, step.depth, this.#out);
      case "record":
      case "range":
        return this.#record(step, at, character);
    }
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
    const end = this.#object(step.record!, at);
    if (step.form === "range" && !isRangeInOrder(out, part + step.lengthWidth)) {
      this.#refuse(notInOrder, at);
    }
    step.lengthWidth = out.join(part, step.lengthWidth);
    return end;
  }

  #refuse(fault: Fault, at: number): never {
    throw new PayloadFault(fault.code, fault.message, at);
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
