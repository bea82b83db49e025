/** A mapping plan compiled for the walk: per record its keys, per column what to write and how. */
import type { Fault } from "../errors.ts";
import { kindMismatch, type ColumnPlan } from "../mapping/mapping-plan.ts";
import type { Convert, FieldKind } from "../schema/field.ts";
import { protoTypeOf, wireTypes } from "../schema/wire-type.ts";
import type { JsonReader } from "../read/json-reader.ts";
import type { KeySet } from "../read/key-set.ts";
import { FieldOrder } from "./field-order.ts";
import { KeyTable, type Key } from "./key-table.ts";

/**
 * How the walk takes a value to the row. `text`: a JSON text is copied, other kinds are converted; `scalar`: every kind
 * is converted; `json`: the source text; `record` and `range`: member by member.
 */
export type ValueForm = "text" | "scalar" | "json" | "record" | "range";

/** What becomes of an explicit null: in a REPEATED column, of a null element. */
export type NullForm = "leave out" | "missing" | "keep" | "refuse";

export class ColumnStep {
  readonly plan: ColumnPlan;
  /** Its index among the steps of the record. */
  readonly slot: number;
  /** Field number and wire type of one value (of all values when they are packed). */
  readonly tag: number;
  readonly repeated: boolean;
  /** A REPEATED column whose values stand one behind the other under a single tag. */
  readonly packed: boolean;
  readonly form: ValueForm;
  readonly onNull: NullForm;
  /** How many bytes the length of the last packed values took: the next guess. */
  packedWidth = 1;
  readonly text: Convert;
  readonly number: Convert;
  readonly boolean: Convert;
  /** A column that takes no objects refuses them before it looks into them. */
  readonly object: Convert | undefined;
  /** Only of the forms `record` and `range`. */
  readonly record: RecordStep | undefined;
  /** Levels of the payload around one value. */
  readonly depth: number;
  /** How many bytes the length of the last value took: the next guess. */
  lengthWidth = 1;

  /** @param depth levels of the payload around the column */
  constructor(plan: ColumnPlan, slot: number, depth: number) {
    const wireType = wireTypes[protoTypeOf(plan.column)];
    this.plan = plan;
    this.slot = slot;
    this.repeated = plan.column.mode === "REPEATED";
    this.packed = this.repeated && wireType !== 2;
    this.tag = plan.number * 8 + (this.packed ? 2 : wireType);
    this.form = formOf(plan);
    this.onNull = nullFormOf(plan);
    this.text = conversion(plan, "json text");
    this.number = conversion(plan, "json number");
    this.boolean = conversion(plan, "json boolean");
    this.object = plan.conversions["json object"];
    this.depth = this.repeated ? depth + 1 : depth;
    this.record =
      this.form === "record" || this.form === "range" ? new RecordStep(plan.parts, this.depth + 1) : undefined;
  }
}

export class RecordStep {
  readonly steps: readonly ColumnStep[];
  readonly required: readonly ColumnStep[];
  readonly keys: KeyTable;
  /** The fields of the object that is being written. */
  readonly order: FieldOrder;
  /** The key that an object began with the last time. */
  #first: Key | undefined;
  /** Per slot of a key the last visit in which it was seen. */
  readonly #seenIn: Int32Array;
  /** Levels of the payload down to the members. */
  readonly depth: number;
  #visit = 0;
  /** The visit that `#strayObject` belongs to. */
  #strayVisit = 0;
  #strayObject = 0;

  constructor(plans: readonly ColumnPlan[], depth: number) {
    this.steps = plans.map((plan, slot) => new ColumnStep(plan, slot, depth));
    this.required = this.steps.filter((step) => step.plan.required);
    this.keys = new KeyTable(this.steps);
    this.order = new FieldOrder(this.steps.length);
    const firstColumn = plans[0]?.column.name;
    this.#first = firstColumn === undefined ? undefined : this.keys.named(Buffer.from(firstColumn));
    this.#seenIn = new Int32Array(this.keys.slotCount);
    this.depth = depth;
  }

  /** A new object of this record begins. Returns the number by which its keys are marked as seen. */
  beginVisit(): number {
    this.order.begin();
    if (this.#visit === 2 ** 31 - 1) {
      this.#seenIn.fill(0);
      this.#visit = this.#strayVisit = 0;
    }
    return ++this.#visit;
  }

  /** The key at `at`, if it is one of those that are likely to follow `previous` (undefined: to be the first). */
  guessAt(reader: JsonReader, at: number, previous: Key | undefined): Key | undefined {
    const guess = previous === undefined ? this.#first : previous.next;
    if (guess === undefined || guess.isAt(reader, at)) return guess;
    const afterGuess = guess.next;
    return afterGuess?.isAt(reader, at) ? afterGuess : undefined;
  }

  /** The next time `key` is guessed to follow `previous`. */
  expect(key: Key, previous: Key | undefined): void {
    if (previous === undefined) this.#first = key;
    else previous.next = key;
  }

  /** Marks the column (or the spelling, where there is no column) as seen. Returns false when it was marked in this visit already. */
  mark(key: Key, visit: number): boolean {
    if (this.#seenIn[key.slot] === visit) return false;
    this.#seenIn[key.slot] = visit;
    return true;
  }

  /** Every REQUIRED column was seen in this visit. */
  isComplete(visit: number): boolean {
    for (const step of this.required) if (this.#seenIn[step.slot] !== visit) return false;
    return true;
  }

  /** The number that the object being visited has in a set of keys. */
  strayObject(visit: number, strays: KeySet): number {
    if (this.#strayVisit !== visit) {
      this.#strayVisit = visit;
      this.#strayObject = strays.beginObject();
    }
    return this.#strayObject;
  }
}

function formOf({ column }: ColumnPlan): ValueForm {
  if (column.type === "STRUCT") return "record";
  if (column.type === "RANGE") return "range";
  if (column.type === "JSON") return "json";
  return column.type === "STRING" && column.maxLength === undefined ? "text" : "scalar";
}

function nullFormOf(plan: ColumnPlan): NullForm {
  if (plan.keepsNull) return "keep";
  if (plan.column.mode === "REPEATED") return "refuse";
  return plan.required ? "missing" : "leave out";
}

/** The conversion of a kind, or one that refuses it. */
function conversion(plan: ColumnPlan, kind: FieldKind): Convert {
  const fault: Fault = kindMismatch(kind, plan);
  return plan.conversions[kind] ?? (() => fault);
}
