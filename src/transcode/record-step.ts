/** A mapping plan compiled for the walk: per record its keys, per column what to write and how. */
import type { Fault } from "../errors.ts";
import { kindMismatch, type ColumnPlan } from "../mapping/mapping-plan.ts";
import type { Convert, FieldKind } from "../schema/field.ts";
import { protoTypeOf, wireTypes } from "../schema/wire-type.ts";
import type { KeySet } from "../read/key-set.ts";
import { FieldOrder } from "./field-order.ts";
import { Key, KeyTable } from "./key-table.ts";
import { noShortcut, shortcutOf } from "./shortcuts.ts";

/**
 * How the walk takes a value to the row. `scalar`: by the conversion of its kind; `text`: a text is copied, other kinds are converted; `json`: the
 * source text; `record` and `range`: member by member.
 */
export type ValueForm = "scalar" | "text" | "json" | "record" | "range";

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
  /** Which short cut a value of the column may take (see `takeShortcut`), and which one an element of a REPEATED column that has its own tag. */
  readonly shortcut: number;
  readonly elementShortcut: number;
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
    this.shortcut = this.repeated ? noShortcut : shortcutOf(plan);
    this.elementShortcut = this.packed ? noShortcut : shortcutOf(plan);
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

/** Of keys that are never compared. */
const noName = Buffer.from("-");

export class RecordStep {
  readonly steps: readonly ColumnStep[];
  readonly required: readonly ColumnStep[];
  readonly keys: KeyTable;
  readonly order: FieldOrder;
  /** Stands in front of an object's first key: the one that is expected to be first follows it. */
  readonly start: Key;
  /** Stands for any key that has neither a column nor a slot of its own. */
  readonly stray: Key;
  /** Per slot of a key the last visit in which it was seen. */
  readonly seenIn: Int32Array;
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
    this.seenIn = new Int32Array(this.keys.slotCount + 1);
    this.start = new Key(noName, undefined, this.keys.slotCount);
    this.stray = new Key(noName, undefined, this.keys.slotCount);
    this.start.next = this.keys.first;
    this.depth = depth;
  }

  /** A new object of this record begins. Returns the number by which its keys are marked as seen. */
  beginVisit(): number {
    if (this.#visit === 2 ** 31 - 1) {
      this.seenIn.fill(0);
      this.#visit = this.#strayVisit = 0;
    }
    return ++this.#visit;
  }

  /** Every REQUIRED column was seen in this visit. */
  isComplete(visit: number): boolean {
    for (const step of this.required) if (this.seenIn[step.slot] !== visit) return false;
    return true;
  }

  /** Prepares `stray` for a key that follows `previous`. Returns the number that the object being visited has in a set of keys. */
  beginStray(visit: number, previous: Key, strays: KeySet): number {
    if (this.#strayVisit !== visit) {
      this.#strayVisit = visit;
      this.#strayObject = strays.beginObject();
    }
    this.seenIn[this.stray.slot] = 0;
    if (previous !== this.stray) this.stray.next = previous.next;
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
