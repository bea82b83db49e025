/** The protobuf descriptor of a table's rows, as the Storage Write API takes it (`ProtoSchema.proto_descriptor`). */
import type { Column } from "../schema/table-schema.ts";
import { innerColumns, protoTypeNumbers, protoTypeOf, wireTypes, type ProtoType } from "../schema/wire-type.ts";
import { WireWriter } from "./wire-writer.ts";

export interface RowDescriptor {
  /** A serialized `google.protobuf.DescriptorProto`, self-contained, proto2. */
  readonly bytes: Buffer;
  /** The same as JSON, for `map --descriptor`. */
  readonly json: object;
}

/** Labels of `FieldDescriptorProto.Label`. */
const labels = { LABEL_OPTIONAL: 1, LABEL_REQUIRED: 2, LABEL_REPEATED: 3 } as const;

/** A column under its own name when protobuf can spell it; else under a stand-in, and BigQuery goes by `columnName`. */
interface FieldDescription {
  readonly name: string;
  readonly number: number;
  readonly label: keyof typeof labels;
  readonly type: ProtoType;
  readonly typeName?: string;
  readonly packed?: true;
  readonly columnName?: string;
}

interface MessageDescription {
  readonly name: string;
  readonly fields: readonly FieldDescription[];
  readonly nested: readonly MessageDescription[];
}

/**
 * Describes rows with the given columns as fields 1…n, in order, nested ones likewise.
 *
 * @param takesDefault top-level columns for which BigQuery fills in a default: they are optional even if REQUIRED
 */
export function describeRow(columns: readonly Column[], takesDefault: (column: Column) => boolean): RowDescriptor {
  const row = describeMessage("Row", columns, takesDefault);
  const out = new WireWriter(1024);
  writeMessage(row, out);
  return { bytes: Buffer.from(out.bytes.subarray(0, out.position)), json: messageJson(row) };
}

const never = (): boolean => false;

function describeMessage(
  name: string,
  columns: readonly Column[],
  takesDefault: (column: Column) => boolean,
): MessageDescription {
  const names = new FreeNames(columns);
  const nested: MessageDescription[] = [];
  const fields = columns.map((column, index): FieldDescription => {
    const number = index + 1;
    const type = protoTypeOf(column);
    const typeName = type === "message" ? names.pick(`Record${number}`) : undefined;
    if (typeName !== undefined) nested.push(describeMessage(typeName, innerColumns(column), never));
    return {
      ...(protobufName.test(column.name)
        ? { name: column.name }
        : { name: names.pick(`column_${number}`), columnName: column.name }),
      number,
      label: labelOf(column, takesDefault(column)),
      type,
      ...(typeName !== undefined && { typeName }),
      ...(column.mode === "REPEATED" && wireTypes[type] !== 2 && { packed: true as const }),
    };
  });
  return { name, fields, nested };
}

const protobufName = /^[A-Za-z_][A-Za-z0-9_]*$/;

function labelOf(column: Column, takesDefault: boolean): keyof typeof labels {
  if (column.mode === "REPEATED") return "LABEL_REPEATED";
  return column.mode === "REQUIRED" && !takesDefault ? "LABEL_REQUIRED" : "LABEL_OPTIONAL";
}

/** Names that no column of the message has, in whatever case: fields and nested types share one scope. */
class FreeNames {
  readonly #taken: Set<string>;

  constructor(columns: readonly Column[]) {
    this.#taken = new Set(columns.map((column) => column.name.toLowerCase()));
  }

  pick(wish: string): string {
    let name = wish;
    while (this.#taken.has(name.toLowerCase())) name += "_";
    this.#taken.add(name.toLowerCase());
    return name;
  }
}

function writeMessage(message: MessageDescription, out: WireWriter): void {
  writeText(1, message.name, out);
  for (const field of message.fields) writePart(2, out, () => writeField(field, out));
  for (const nested of message.nested) writePart(3, out, () => writeMessage(nested, out));
}

function writeField(field: FieldDescription, out: WireWriter): void {
  writeText(1, field.name, out);
  writeNumber(3, field.number, out);
  writeNumber(4, labels[field.label], out);
  writeNumber(5, protoTypeNumbers[field.type], out);
  if (field.typeName !== undefined) writeText(6, field.typeName, out);
  if (field.packed || field.columnName !== undefined) writePart(8, out, () => writeOptions(field, out));
}

/** Field of `google.protobuf.FieldOptions` that `google.cloud.bigquery.storage.v1.column_name` extends it with. */
const columnNameField = 454_943_157;

function writeOptions(field: FieldDescription, out: WireWriter): void {
  if (field.packed) writeNumber(2, 1, out);
  if (field.columnName !== undefined) writeText(columnNameField, field.columnName, out);
}

function writeNumber(field: number, value: number, out: WireWriter): void {
  out.varint32(field * 8);
  out.varint32(value);
}

function writeText(field: number, value: string, out: WireWriter): void {
  out.varint32(field * 8 + 2);
  out.text(value);
}

function writePart(field: number, out: WireWriter, write: () => void): void {
  out.varint32(field * 8 + 2);
  const start = out.fork(2);
  write();
  out.join(start, 2);
}

function messageJson(message: MessageDescription): object {
  return {
    name: message.name,
    field: message.fields.map(fieldJson),
    ...(message.nested.length > 0 && { nestedType: message.nested.map(messageJson) }),
  };
}

function fieldJson(field: FieldDescription): object {
  const options = {
    ...(field.packed && { packed: true }),
    ...(field.columnName !== undefined && { "[google.cloud.bigquery.storage.v1.column_name]": field.columnName }),
  };
  return {
    name: field.name,
    number: field.number,
    label: field.label,
    type: `TYPE_${field.type.toUpperCase()}`,
    ...(field.typeName !== undefined && { typeName: field.typeName }),
    ...(Object.keys(options).length > 0 && { options }),
  };
}
