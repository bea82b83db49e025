/** Checks serialized rows against a table: compiled once for a writer schema and a table schema, then one walk per row. */
import { type Cell, InvalidValue } from "./cell.ts";
import type { Binding, FieldBinding } from "./column-binding.ts";
import { checkOf, numberValue, type ValueCheck, wireTypeOf } from "./value-check.ts";
import { checkedRange, type ScalarType, toCell } from "./value-codec.ts";
import { fixed64Wire, lengthWire, varintWire, WireReader } from "./wire-reader.ts";

/** What one field of a message must be. */
interface FieldPlan {
  readonly path: string;
  readonly wireType: number;
  /** A REPEATED field of numbers may come packed, whatever the descriptor says. */
  readonly isPackable: boolean;
  readonly isRepeated: boolean;
  readonly check: ValueCheck;
  readonly message: MessagePlan | undefined;
  /** The message in which it was last seen; tells a field that comes twice and one that is missing. */
  seenIn: number;
  /** Of a bound of a RANGE: makes its cell, to compare both. */
  readonly toCell: ((low: number, high: number, bytes: Buffer, start: number, end: number) => Cell) | undefined;
  cell: Cell;
}

interface MessagePlan {
  /** Empty for the row itself. */
  readonly path: string;
  readonly fields: ReadonlyMap<number, FieldPlan>;
  readonly required: readonly FieldPlan[];
  readonly isRange: boolean;
  readonly start: FieldPlan | undefined;
  readonly end: FieldPlan | undefined;
}

/** Says of single rows why BigQuery would refuse them. */
export class RowValidator {
  readonly #plan: MessagePlan;
  readonly #reader = new WireReader();
  #messages = 0;
  #path = "";

  /** @param takesDefault whether a column without a value gets its default, by position */
  constructor(binding: Binding, takesDefault: (position: number) => boolean) {
    this.#plan = compile({ path: "", fields: binding.fields, isRange: false }, takesDefault);
  }

  /** Why the row is refused; undefined when it is not. Never holds more of a value than the service's own words do. */
  problemOf(bytes: Buffer, start: number, end: number): string | undefined {
    const reader = this.#reader;
    reader.bytes = bytes;
    reader.position = start;
    reader.end = end;
    this.#path = "";
    try {
      this.#message(this.#plan);
      return undefined;
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      return this.#path === "" ? error.message : `${error.message} on field ${this.#path}`;
    }
  }

  #message(plan: MessagePlan): void {
    const reader = this.#reader;
    const message = ++this.#messages;
    while (reader.position < reader.end) {
      const tag = reader.tag();
      const field = plan.fields.get(tag >>> 3);
      this.#path = field?.path ?? plan.path;
      if (field === undefined) throw new InvalidValue(`Row has field number ${tag >>> 3}, which the schema lacks`);
      this.#field(field, tag & 7, message);
    }
    for (const field of plan.required) {
      if (field.seenIn !== message) {
        this.#path = field.path;
        throw new InvalidValue("Required value is missing");
      }
    }
    this.#path = plan.path;
    if (plan.isRange) checkBounds(plan, message);
  }

  #field(field: FieldPlan, wireType: number, message: number): void {
    if (field.seenIn === message && !field.isRepeated) throw new InvalidValue("Value comes twice");
    field.seenIn = message;
    if (wireType === field.wireType) this.#value(field);
    else if (field.isPackable && wireType === lengthWire) this.#packed(field);
    else throw new InvalidValue(`Wire type is ${wireType} instead of ${field.wireType}`);
  }

  #value(field: FieldPlan): void {
    const reader = this.#reader;
    if (field.wireType !== lengthWire) {
      this.#number(field);
      return;
    }
    const start = reader.lengthDelimited();
    const end = reader.position;
    if (field.message === undefined) {
      field.check.bytes(reader.bytes, start, end);
      if (field.toCell) field.cell = field.toCell(0, 0, reader.bytes, start, end);
      return;
    }
    const outer = reader.end;
    reader.position = start;
    reader.end = end;
    this.#message(field.message);
    reader.end = outer;
  }

  #number(field: FieldPlan): void {
    const reader = this.#reader;
    if (field.wireType === varintWire) reader.varint();
    else if (field.wireType === fixed64Wire) reader.fixed64();
    else reader.fixed32();
    field.check.number(reader.low, reader.high);
    if (field.toCell) field.cell = field.toCell(reader.low, reader.high, reader.bytes, 0, 0);
  }

  #packed(field: FieldPlan): void {
    const reader = this.#reader;
    const outer = reader.end;
    const start = reader.lengthDelimited();
    reader.end = reader.position;
    reader.position = start;
    while (reader.position < reader.end) this.#number(field);
    reader.end = outer;
  }
}

/** The fields of a message, and where it stands. */
interface MessageBinding {
  readonly path: string;
  readonly fields: readonly FieldBinding[];
  readonly isRange: boolean;
}

function compile({ path, fields, isRange }: MessageBinding, takesDefault: (position: number) => boolean): MessagePlan {
  const plans = fields.map((field) => ({ field, plan: compileField(field, isRange) }));
  const plan = (name: string): FieldPlan | undefined => plans.find(({ field }) => field.column.name === name)?.plan;
  return {
    path,
    fields: new Map(plans.map(({ field, plan }) => [field.shape.number, plan])),
    required: plans.filter(({ field }) => isRequired(field, takesDefault)).map(({ plan }) => plan),
    isRange,
    start: isRange ? plan("start") : undefined,
    end: isRange ? plan("end") : undefined,
  };
}

/** A field that the descriptor calls required must be there by protobuf's own rule, whatever the table says. */
function isRequired({ shape, column, position }: FieldBinding, takesDefault: (position: number) => boolean): boolean {
  if (shape.label === "required") return true;
  return column.mode === "REQUIRED" && shape.protoDefault === undefined && !takesDefault(position);
}

/** Only columns of the table have defaults, those inside a STRUCT have not. */
const withoutDefaults = (): boolean => false;

function compileField({ shape, column, path, fields }: FieldBinding, isBound: boolean): FieldPlan {
  const wireType = wireTypeOf(shape.type);
  return {
    path,
    wireType,
    isPackable: shape.label === "repeated" && wireType !== lengthWire,
    isRepeated: shape.label === "repeated",
    check: checkOf(column, shape),
    message:
      shape.type === "message"
        ? compile({ path, fields, isRange: column.type === "RANGE" }, withoutDefaults)
        : undefined,
    seenIn: 0,
    toCell: isBound && shape.type !== "message" ? boundCell(toCell(column, shape.type), shape.type) : undefined,
    cell: null,
  };
}

function boundCell(cell: ReturnType<typeof toCell>, source: ScalarType): NonNullable<FieldPlan["toCell"]> {
  if (source === "string") return (_low, _high, bytes, start, end) => cell(bytes.toString("utf8", start, end));
  return (low, high) => cell(numberValue(source, low, high));
}

function checkBounds({ start, end }: MessagePlan, message: number): void {
  const bound = (field: FieldPlan | undefined): Cell => (field?.seenIn === message ? field.cell : null);
  checkedRange([bound(start), bound(end)]);
}
