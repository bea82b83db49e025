/** Runs one conversion on its own: a JSON value as a reader would hand it over, into the bytes of the wire. */
import type { Fault } from "../../src/errors.ts";
import { bindConversion } from "../../src/mapping/compatibility.ts";
import type { ConversionOptions } from "../../src/mapping/conversion-options.ts";
import type { FieldKind } from "../../src/schema/field.ts";
import type { Column } from "../../src/schema/table-schema.ts";
import { WireWriter } from "../../src/write/wire-writer.ts";

export const defaultOptions: ConversionOptions = { numericBytes: "refuse", onPrecisionLoss: "reject" };

export function column(type: Column["type"], rest: Partial<Column> = {}): Column {
  return { name: "v", type, mode: "NULLABLE", fields: [], hasDefault: false, ...rest };
}

export function kindOf(json: string): FieldKind | "null" {
  const first = json.trim()[0]!;
  if (first === '"') return "json text";
  if (first === "{") return "json object";
  if (first === "[") return "json array";
  if (first === "t" || first === "f") return "json boolean";
  return first === "n" ? "null" : "json number";
}

/** What became of a value: its bytes in hex, a fault, or nothing when the pair is not in the matrix. */
export type Converted = { readonly wire: string } | { readonly fault: Fault } | { readonly unmapped: true };

/**
 * Converts `json`, the source text of a JSON value. The value stands in the middle of other bytes, which a conversion
 * must neither read nor be misled by.
 */
export function convert(json: string, into: Column, options: Partial<ConversionOptions> = {}): Converted {
  const kind = kindOf(json) as FieldKind;
  const conversion = bindConversion(kind, into, { ...defaultOptions, ...options });
  if (conversion === undefined) return { unmapped: true };
  const carrier = Buffer.from(kind === "json text" ? (JSON.parse(json) as string) : json);
  const bytes = Buffer.concat([Buffer.from("7"), carrier, Buffer.from("5.5e5Z")]);
  const out = new WireWriter(1);
  const fault = conversion(bytes, 1, 1 + carrier.length, out);
  return fault === undefined ? { wire: out.bytes.toString("hex", 0, out.position) } : { fault };
}

/** The code of the refusal, or the bytes in hex. */
export function outcome(json: string, into: Column, options: Partial<ConversionOptions> = {}): string {
  const converted = convert(json, into, options);
  if ("unmapped" in converted) return "TYPE_MISMATCH";
  return "fault" in converted ? converted.fault.code : converted.wire;
}

/** The wire value read back: an int64, the bits of a double, or the content behind a length. */
export function readBack(wire: string, proto: string): string {
  const bytes = Buffer.from(wire, "hex");
  if (proto === "double") return wire;
  let at = 0;
  let value = 0n;
  for (let shift = 0n; ; shift += 7n) {
    const byte = BigInt(bytes[at++]!);
    value |= (byte & 127n) << shift;
    if (byte < 128n) break;
  }
  if (proto === "bool") return value === 1n ? "true" : "false";
  if (proto === "int32" || proto === "int64") return BigInt.asIntN(64, value).toString();
  if (BigInt(bytes.length - at) !== value) throw new Error("the length prefix is wrong");
  return bytes.toString(proto === "bytes" ? "hex" : "utf8", at);
}
