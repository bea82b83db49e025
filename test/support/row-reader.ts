/** Reads rows as BigQuery would: by nothing but the descriptor that was sent along (protobufjs reflection). */
import type protobuf from "protobufjs";
import { storageProtos } from "../../src/lib/protos.ts";
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
    const row = readRow(this.#type, bytes);
    checkRequired(row, this.shape);
    // A field that is unknown or comes twice is lost here, a varint with too many bytes becomes shorter.
    const again = this.#type.encode(this.#type.decode(bytes)).finish();
    if (again.length !== bytes.length) throw new Error(`a row of ${bytes.length} bytes takes only ${again.length}`);
    return row;
  }
}

function shapeOf(message: MessageDescriptor): readonly FieldShape[] {
  return message.field.map((field) => {
    const nested = message.nestedType.find(({ name }) => name === field.typeName);
    return {
      number: field.number,
      name: field.options?.[columnName] || field.name,
      rule: ruleOf(field.label),
      type: field.type.replace("TYPE_", "").toLowerCase(),
      packed: field.options?.packed ?? false,
      fields: nested ? shapeOf(nested) : [],
    };
  });
}

function ruleOf(label: string): FieldShape["rule"] {
  if (label === "LABEL_REPEATED") return "repeated";
  return label === "LABEL_REQUIRED" ? "required" : "optional";
}

function checkRequired(row: Row, shape: readonly FieldShape[]): void {
  for (const { number, name, rule, fields } of shape) {
    const cell = row[`f${number}`];
    if (rule === "required" && cell === undefined) throw new Error(`the required field ${name} is missing`);
    if (fields.length === 0 || cell === undefined) continue;
    for (const message of [cell].flat() as readonly Row[]) checkRequired(message, fields);
  }
}
