/**
 * The neutral type language between payload formats and columns: which kinds of value a payload can hold,
 * and in what form a reader hands each kind to a conversion. JSON's kinds are here; Avro's and Protobuf's add rows.
 */
import type { Fault } from "../errors.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/** A kind of value that a payload holds. */
export type FieldKind = (typeof fieldKinds)[number];

export const fieldKinds = ["json text", "json number", "json boolean", "json object", "json array"] as const;

/**
 * Takes one value from the payload to the wire.
 *
 * The carrier of every JSON kind is a byte range: of a text its characters (escapes resolved, without quotes),
 * of anything else its source text. Writes the value with its length prefix where the wire type has one,
 * but without a tag. On a fault nothing that was written counts: the caller takes the row back.
 */
export type Convert = (bytes: Buffer, start: number, end: number, out: WireWriter) => Fault | undefined;
