/** Reads rows as BigQuery would: by nothing but the descriptor that was sent along (protobufjs reflection). */
import protobuf from "protobufjs";
import { storageProtos } from "../../src/lib/protos.ts";
import type { RowBatch } from "../../src/write/row-batch.ts";
import { messageType, readRow } from "./slow-row.ts";
import type { FieldShape, Row } from "./slow-row.ts";

interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
  readonly options: { readonly packed: boolean; readonly [columnName]: string } | null;
}

interface MessageDescriptor {
  readonly name: string;
  readonly field: readonly FieldDescriptor[];
  readonly nestedType: readonly MessageDescriptor[];
}

const columnName = ".google.cloud.bigquery.storage.v1.columnName";

export class RowReader {
  /** The columns that the descriptor speaks of. */
  readonly shape: readonly FieldShape[];
  readonly #type: protobuf.Type;

  /** @param descriptor a serialized `google.protobuf.DescriptorProto` */
  constructor(descriptor: Uint8Array) {
    const type = storageProtos().lookupType("google.protobuf.DescriptorProto");
    const message = type.toObject(type.decode(descriptor), { enums: String, defaults: true, arrays: true });
    this.shape = shapeOf(message as MessageDescriptor);
    this.#type = messageType(this.shape);
  }

  /** Throws when the bytes are no row: a field that the descriptor lacks, one that comes twice, a required one missing. */
  read(bytes: Uint8Array): Row {
    checkFields(bytes, this.shape);
    return readRow(this.#type, bytes);
  }
}

/** Reads one row of a batch, where it is an entry of `ProtoRows.serialized_rows`. */
export function readRowAt(reader: RowReader, rows: RowBatch, row: number): Row {
  const entry = protobuf.Reader.create(rows.writer.bytes.subarray(rows.rowStart(row), rows.rowEnd(row)));
  entry.uint32();
  return reader.read(entry.bytes());
}

/** Reflection forgives what a server may not: it steps over unknown fields, and takes the last of several values. */
function checkFields(bytes: Uint8Array, shape: readonly FieldShape[]): void {
  const reader = protobuf.Reader.create(bytes);
  const seen = new Set<number>();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = shape.find(({ number }) => number === tag >>> 3);
    if (!field) throw new Error(`the row has a field ${tag >>> 3} that the descriptor lacks`);
    if (seen.has(field.number) && (field.rule !== "repeated" || field.packed)) {
      throw new Error(`the field ${field.name} comes twice`);
    }
    seen.add(field.number);
    if (field.type === "message") checkFields(reader.bytes(), field.fields);
    else reader.skipType(tag & 7);
  }
  const missing = shape.find(({ number, rule }) => rule === "required" && !seen.has(number));
  if (missing) throw new Error(`the required field ${missing.name} is missing`);
}

/** @param outer the message types that are in sight around this one */
function shapeOf(message: MessageDescriptor, outer: readonly MessageDescriptor[] = []): readonly FieldShape[] {
  const inSight = [...message.nestedType, ...outer];
  return message.field.map((field) => {
    const nested = inSight.find(({ name }) => name === field.typeName);
    return {
      number: field.number,
      name: field.options?.[columnName] || field.name,
      rule: ruleOf(field.label),
      type: field.type.replace("TYPE_", "").toLowerCase(),
      packed: field.options?.packed ?? false,
      fields: nested ? shapeOf(nested, inSight) : [],
    };
  });
}

function ruleOf(label: string): FieldShape["rule"] {
  if (label === "LABEL_REPEATED") return "repeated";
  return label === "LABEL_REQUIRED" ? "required" : "optional";
}
