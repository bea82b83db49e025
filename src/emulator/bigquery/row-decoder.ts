/** Decodes serialized rows into cells, with protobufjs and the descriptor that came with them. */
import type protobuf from "protobufjs";
import type { Cell } from "./cell.ts";
import type { Binding, FieldBinding } from "./column-binding.ts";
import type { Column, DefaultContext } from "./column.ts";
import { checkedRange, type ScalarType, type ScalarValue, toCell } from "./value-codec.ts";

/** A decoded message: `f` and the field number, and only fields that were there. */
type Decoded = Readonly<Record<string, unknown>>;

/** Adds the cells of one message to its row. */
type Fill = (message: Decoded, cells: Cell[]) => void;

/** What stands for a value that is not there: the column's default or NULL. */
export type Missing = (column: Column, position: number, row: number) => Cell;

/** A column without a value. BigQuery knows no NULL array. */
export function emptyCell(column: Column): Cell {
  return column.mode === "REPEATED" ? [] : null;
}

/** @param takesDefault whether a column without a value gets its default, by position */
export function missingBy(takesDefault: (position: number) => boolean, context: DefaultContext): Missing {
  return (column, position, row) => {
    if (!column.defaultValue || !takesDefault(position)) return emptyCell(column);
    return column.defaultValue.evaluate(context, row);
  };
}

/** Rows of one writer schema as cells in the order of the table's columns at that time. */
export class RowDecoder {
  readonly #binding: Binding;
  readonly #fills: readonly Fill[];

  constructor(binding: Binding) {
    this.#binding = binding;
    this.#fills = binding.fields.map(fillOf);
  }

  /** @param row its position in its request */
  decode(bytes: Buffer, row: number, missing: Missing): readonly Cell[] {
    const { columns, descriptor } = this.#binding;
    const message = descriptor.reflection.decode(bytes) as unknown as Decoded;
    const found: Cell[] = [];
    for (const fill of this.#fills) fill(message, found);
    return columns.map((column, position) => found[position] ?? missing(column, position, row));
  }
}

function fillOf(field: FieldBinding): Fill {
  const { shape, column, position } = field;
  const key = `f${shape.number}`;
  const convert = converterOf(field);
  const absent = shape.protoDefault === undefined ? undefined : protoDefaultCell(field, shape.protoDefault);
  if (column.mode === "REPEATED") {
    return (message, cells) => {
      // On the wire an array without elements is as absent as one that was left out.
      const elements = message[key] as readonly unknown[] | undefined;
      if (elements?.length) cells[position] = elements.map(convert);
    };
  }
  return (message, cells) => {
    if (Object.hasOwn(message, key)) cells[position] = convert(message[key]);
    else if (absent !== undefined) cells[position] = absent;
  };
}

function converterOf({ shape, column, fields }: FieldBinding): (value: unknown) => Cell {
  if (shape.type !== "message") {
    const cell = toCell(column, shape.type, shape.enumNames);
    const { type } = shape;
    return (value) => cell(scalarOf(value, type));
  }
  const fills = fields.map(fillOf);
  const isRange = column.type === "RANGE";
  return (value) => {
    const cells = column.fields.map(emptyCell);
    for (const fill of fills) fill(value as Decoded, cells);
    return isRange ? checkedRange(cells) : cells;
  };
}

/** protobufjs gives 64-bit integers as Long, others as number. */
function scalarOf(value: unknown, type: ScalarType): ScalarValue {
  if (typeof value === "object" && "high" in (value as object)) return integerOf(value as protobuf.Long);
  if (typeof value === "number" && type !== "double" && type !== "float") return BigInt(value);
  return value as ScalarValue;
}

function integerOf({ low, high, unsigned }: protobuf.Long): bigint {
  const bits = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
  return unsigned ? bits : BigInt.asIntN(64, bits);
}

/** `default_value` is text: a symbol of an enum, C-escaped for bytes, otherwise as in a .proto file. */
function protoDefaultCell({ shape, column }: FieldBinding, text: string): Cell {
  const type = shape.type as ScalarType;
  const cell = toCell(column, type, shape.enumNames);
  if (type === "string") return cell(text);
  if (type === "bytes") return cell(Buffer.from(unescapeC(text), "latin1"));
  if (type === "bool") return cell(text === "true");
  if (type === "double" || type === "float")
    return cell(text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text));
  if (type === "enum") return cell(BigInt([...(shape.enumNames ?? [])].find(([, name]) => name === text)?.[0] ?? 0));
  return cell(BigInt(text));
}

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", a: "\x07", b: "\b", f: "\f", v: "\v" };

function unescapeC(text: string): string {
  return text.replace(/\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))/gs, (_, octal, hex, other) => {
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    return escapes[other] ?? other;
  });
}
