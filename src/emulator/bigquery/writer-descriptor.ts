/**
 * The writer schema of an append: a DescriptorProto, read with protobufjs and turned into a protobufjs type
 * that decodes the rows.
 */
import protobuf from "protobufjs";
import { storageProtos } from "../../lib/protos.ts";
import { AppendRefusal } from "./append-refusal.ts";
import type { ScalarType } from "./value-codec.ts";

export interface FieldShape {
  /** The column's name: the `column_name` option where the field has one, else its own name. */
  readonly name: string;
  readonly number: number;
  readonly label: "optional" | "required" | "repeated";
  readonly type: ScalarType | "message";
  /** Of a message field. */
  readonly message?: MessageShape;
  /** Of an enum field: names by number. */
  readonly enumNames?: ReadonlyMap<number, string>;
  /** `default_value` as the descriptor spells it: what an absent field means. */
  readonly protoDefault?: string;
}

export interface MessageShape {
  readonly fields: readonly FieldShape[];
}

export interface WriterDescriptor {
  /** The DescriptorProto as it was sent. */
  readonly bytes: Buffer;
  readonly shape: MessageShape;
  /** Decodes rows. Its fields are named `f` and the field number, so that no column name can hurt a JavaScript object. */
  readonly reflection: protobuf.Type;
}

/** How protobufjs names the extension field of FieldOptions. */
const columnNameOption = ".google.cloud.bigquery.storage.v1.columnName";

/** Of the parts of google.protobuf.DescriptorProto, those with a bearing on rows. */
interface DescriptorProto {
  readonly name?: string;
  readonly field?: readonly FieldDescriptorProto[];
  readonly nestedType?: readonly DescriptorProto[];
  readonly enumType?: readonly EnumDescriptorProto[];
}

interface FieldDescriptorProto {
  readonly name?: string;
  readonly number?: number;
  readonly label?: string;
  readonly type?: string;
  readonly typeName?: string;
  readonly defaultValue?: string;
  readonly options?: { readonly [columnNameOption]?: string };
}

interface EnumDescriptorProto {
  readonly name?: string;
  readonly value?: readonly { readonly name?: string; readonly number?: number }[];
}

/** BigQuery's own limits: columns of a table, counting nested ones, and levels of nesting (with room for the parts of a RANGE). */
const maxFields = 10_000;
const maxLevels = 17;

/** @throws AppendRefusal INVALID_ARGUMENT */
export function parseWriterDescriptor(bytes: Buffer): WriterDescriptor {
  const root = decodeDescriptor(bytes);
  const shape = new ShapeBuilder().message(root, [root], 1);
  const reflection = protobuf.Root.fromJSON({ nested: { Row: reflect(shape) } }).lookupType("Row");
  return { bytes, shape, reflection };
}

function decodeDescriptor(bytes: Buffer): DescriptorProto {
  const type = storageProtos().lookupType("google.protobuf.DescriptorProto");
  try {
    return type.toObject(type.decode(bytes), { enums: String });
  } catch {
    throw invalid("it is no DescriptorProto");
  }
}

function invalid(reason: string): AppendRefusal {
  return new AppendRefusal("INVALID_ARGUMENT", `Invalid proto schema: ${reason}`);
}

class ShapeBuilder {
  #fields = 0;

  /**
   * @param scope the messages around its definition, itself last: where its type names are looked up
   * @param level of nesting in the row, which a type that contains itself would deepen without end
   */
  message(descriptor: DescriptorProto, scope: readonly DescriptorProto[], level: number): MessageShape {
    if (level > maxLevels) throw invalid(`messages are nested more than ${maxLevels} deep`);
    const fields = (descriptor.field ?? []).map((field) => this.#field(field, scope, level));
    this.#fields += fields.length;
    if (this.#fields > maxFields) throw invalid(`it has more than ${maxFields} fields`);
    if (fields.length === 0) throw invalid(`message ${descriptor.name ?? ""} has no fields`);
    const numbers = new Set(fields.map((field) => field.number));
    const names = new Set(fields.map((field) => field.name.toLowerCase()));
    if (numbers.size < fields.length) throw invalid("two fields of a message have the same number");
    if (names.size < fields.length) throw invalid("two fields of a message stand for the same column");
    return { fields };
  }

  #field(field: FieldDescriptorProto, scope: readonly DescriptorProto[], level: number): FieldShape {
    const { name = "", number = 0, label = "LABEL_OPTIONAL", typeName = "" } = field;
    if (!name || number < 1 || number >= 2 ** 29) throw invalid("a field has no name or no valid number");
    const common = {
      name: field.options?.[columnNameOption] ?? name,
      number,
      label: label.replace("LABEL_", "").toLowerCase() as FieldShape["label"],
      ...(field.defaultValue === undefined ? {} : { protoDefault: field.defaultValue }),
    };
    // The descriptor of an enum or message field may leave its type open; the name then tells which it is.
    const type = (field.type ?? "TYPE_MESSAGE").replace("TYPE_", "").toLowerCase();
    if (type === "group") throw invalid(`field ${name} is a group`);
    if (type === "enum") return { ...common, type, enumNames: findEnum(typeName, scope) };
    if (type !== "message") return { ...common, type: type as ScalarType };
    const found = findMessage(typeName, scope);
    return { ...common, type, message: this.message(found.descriptor, found.scope, level + 1) };
  }
}

function findEnum(typeName: string, scope: readonly DescriptorProto[]): ReadonlyMap<number, string> {
  const path = typeName.split(".").filter((part) => part !== "");
  const own = path.pop() ?? "";
  for (const around of enclosing(path, scope)) {
    const found = around.at(-1)?.enumType?.find(({ name }) => name === own);
    if (found) return new Map((found.value ?? []).map(({ name = "", number = 0 }) => [number, name]));
  }
  throw invalid(`enum type ${typeName} is not inside the descriptor`);
}

function findMessage(
  typeName: string,
  scope: readonly DescriptorProto[],
): { descriptor: DescriptorProto; scope: readonly DescriptorProto[] } {
  const path = typeName.split(".").filter((part) => part !== "");
  const own = path.pop() ?? "";
  for (const around of enclosing(path, scope)) {
    const descriptor = around.at(-1)?.nestedType?.find(({ name }) => name === own);
    if (descriptor) return { descriptor, scope: [...around, descriptor] };
  }
  throw invalid(`message type ${typeName} is not inside the descriptor`);
}

/**
 * Where the last part of a type name may stand: by protobuf's rule the innermost scope first. A full name starts with
 * the outermost message itself.
 */
function* enclosing(path: readonly string[], scope: readonly DescriptorProto[]): Generator<readonly DescriptorProto[]> {
  for (let depth = scope.length; depth > 0; depth--) {
    const found = descend(scope.slice(0, depth), path);
    if (found) yield found;
  }
  const [outermost] = scope;
  if (outermost && path[0] === outermost.name) {
    const found = descend([outermost], path.slice(1));
    if (found) yield found;
  }
}

function descend(scope: readonly DescriptorProto[], path: readonly string[]): readonly DescriptorProto[] | undefined {
  const around = [...scope];
  for (const part of path) {
    const next = around.at(-1)?.nestedType?.find(({ name }) => name === part);
    if (!next) return undefined;
    around.push(next);
  }
  return around;
}

/** Every field optional: whether it must be there is for the validator to say, with the row's number. */
function reflect({ fields }: MessageShape): protobuf.IType {
  const nested = fields.flatMap((field) => (field.message ? [[`M${field.number}`, reflect(field.message)]] : []));
  return {
    edition: "proto2",
    fields: Object.fromEntries(fields.map((field) => [`f${field.number}`, reflectField(field)])),
    nested: Object.fromEntries(nested) as Record<string, protobuf.AnyNestedObject>,
  };
}

function reflectField({ number, type, label }: FieldShape): protobuf.IField {
  const typeName = type === "message" ? `M${number}` : type === "enum" ? "int32" : type;
  return { id: number, type: typeName, ...(label === "repeated" ? { rule: "repeated" } : {}) };
}
