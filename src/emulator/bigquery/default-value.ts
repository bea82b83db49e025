/**
 * Default value expressions of columns: literals, and the functions that BigQuery allows there.
 * What is beyond them (struct and array constructors with expressions, ST_GEOGPOINT) is refused when the column is declared.
 */
import { createHash } from "node:crypto";
import { type Cell, InvalidValue } from "./cell.ts";
import { microsPerDay, parseTimestamp } from "./civil-time.ts";
import type { DefaultContext, DefaultValue, ValueType } from "./column.ts";
import { toCell } from "./value-codec.ts";

type Evaluate = DefaultValue["evaluate"];

/** The name keeps random defaults of two columns apart. */
type NamedType = ValueType & { readonly name: string };

const functionCall = /^([A-Za-z_]+)\s*(?:\(\s*\))?$/;
const numberLiteral = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const textLiteral = /^(?:([A-Za-z]+)\s*)?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")$/s;

/** @throws InvalidValue when the expression is none of those that are understood, or does not suit the column */
export function parseDefault(expression: string, column: NamedType, repeated: boolean): DefaultValue {
  const text = expression.trim();
  return { expression, evaluate: repeated ? arrayOf(text, column) : scalarOf(text, column) };
}

function arrayOf(text: string, column: NamedType): Evaluate {
  if (!text.startsWith("[") || !text.endsWith("]")) throw new InvalidValue("Default of a REPEATED column is no array");
  const elements = splitElements(text.slice(1, -1)).map((element) => scalarOf(element, column));
  return (context, row) => elements.map((evaluate) => evaluate(context, row));
}

/** Commas inside quotes do not split. */
function splitElements(text: string): string[] {
  const elements = text.match(/(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,'"])+/gs) ?? [];
  return elements.map((element) => element.trim()).filter((element) => element !== "");
}

function scalarOf(text: string, column: NamedType): Evaluate {
  if (/^null$/i.test(text)) return () => null;
  const constant = literalOf(text, column);
  if (constant !== undefined) return () => constant;
  const name = functionCall.exec(text)?.[1]?.toUpperCase();
  const evaluate = name === undefined ? undefined : functions[name]?.(column);
  if (evaluate) return evaluate;
  throw new InvalidValue(
    `Default value expression is not understood by the embedded BigQuery, or does not suit ${column.type}: ` +
      "it takes literals, CURRENT_DATE, CURRENT_TIME, CURRENT_DATETIME, CURRENT_TIMESTAMP, GENERATE_UUID, RAND and SESSION_USER",
  );
}

function literalOf(text: string, column: ValueType): Cell | undefined {
  if (/^(?:true|false)$/i.test(text)) return column.type === "BOOL" ? text.toLowerCase() === "true" : undefined;
  if (numberLiteral.test(text)) return numberCell(text, column);
  const [, prefix = "", quoted] = textLiteral.exec(text) ?? [];
  if (quoted === undefined) return undefined;
  return textCell(prefix.toUpperCase(), quoted.slice(1, -1), column);
}

function numberCell(text: string, column: ValueType): Cell | undefined {
  switch (column.type) {
    case "INT64":
      return /^[+-]?\d+$/.test(text) ? inInt64(BigInt(text)) : undefined;
    case "FLOAT64":
      return Number(text);
    case "NUMERIC":
    case "BIGNUMERIC":
      return toCell(column, "string")(text);
    default:
      return undefined;
  }
}

function inInt64(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new InvalidValue("Default is out of range of INT64");
  return value;
}

/** `'…'` suits every type that is coerced from text, `DATE '…'` and its like their own, `b'…'` BYTES, `r'…'` is raw. */
function textCell(prefix: string, body: string, column: ValueType): Cell | undefined {
  const isRaw = prefix.includes("R") && prefix.length <= 2;
  const text = isRaw ? body : unescape(body);
  if (prefix === "B" || prefix === "RB" || prefix === "BR") {
    return column.type === "BYTES" ? toCell(column, "bytes")(Buffer.from(text, "latin1")) : undefined;
  }
  if (prefix !== "" && prefix !== "R" && prefix !== column.type) return undefined;
  if (column.type === "TIMESTAMP")
    return column.timestampPrecision === 12 ? toCell(column, "string")(text) : parseTimestamp(text);
  if (textual.has(column.type)) return toCell(column, "string")(text);
  return undefined;
}

const textual = new Set([
  "STRING",
  "NUMERIC",
  "BIGNUMERIC",
  "DATE",
  "TIME",
  "DATETIME",
  "JSON",
  "GEOGRAPHY",
  "INTERVAL",
]);

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", a: "\x07", b: "\b", f: "\f", v: "\v" };

function unescape(body: string): string {
  return body.replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs,
    (_, byte, short, long, other) => {
      const code = byte ?? short ?? long;
      if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
      return escapes[other] ?? other;
    },
  );
}

/** By name: what evaluates the function for a column, or undefined when its type does not suit. */
const functions: Readonly<Record<string, (column: NamedType) => Evaluate | undefined>> = {
  CURRENT_TIMESTAMP: ({ type, timestampPrecision }) => {
    if (type !== "TIMESTAMP") return undefined;
    return ({ atMicros }) => (timestampPrecision === 12 ? atMicros * 1_000_000n : atMicros);
  },
  CURRENT_DATETIME: ({ type }) => (type === "DATETIME" ? ({ atMicros }) => atMicros : undefined),
  CURRENT_DATE: ({ type }) => (type === "DATE" ? ({ atMicros }) => Number(atMicros / BigInt(microsPerDay)) : undefined),
  CURRENT_TIME: ({ type }) => (type === "TIME" ? ({ atMicros }) => Number(atMicros % BigInt(microsPerDay)) : undefined),
  GENERATE_UUID: ({ type, name }) =>
    type === "STRING" ? (context, row) => uuidOf(hash(context, name, row)) : undefined,
  RAND: ({ type, name }) => (type === "FLOAT64" ? (context, row) => fractionOf(hash(context, name, row)) : undefined),
  SESSION_USER: ({ type }) => (type === "STRING" ? () => "emulator@localhost" : undefined),
};

function hash({ seed }: DefaultContext, column: string, row: number): Buffer {
  return createHash("sha256").update(`${seed}/${row}/${column}`).digest();
}

/** Version 4, variant 1 (RFC 9562). */
function uuidOf(random: Buffer): string {
  const hex = random.toString("hex");
  const variant = "89ab"[random[8]! & 3]!;
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}

/** At least 0, below 1. */
function fractionOf(random: Buffer): number {
  return random.readUIntBE(0, 6) / 2 ** 48;
}
