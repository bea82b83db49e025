/** Pairs the fields of a writer schema with the columns of a table, and refuses what BigQuery would refuse. */
import { AppendRefusal } from "./append-refusal.ts";
import { type Column, sameName } from "./column.ts";
import { takes } from "./value-codec.ts";
import type { FieldShape, MessageShape, WriterDescriptor } from "./writer-descriptor.ts";

export interface FieldBinding {
  readonly shape: FieldShape;
  readonly column: Column;
  /** Place of the column among its siblings. */
  readonly position: number;
  /** Dotted names from the table down, for row errors. */
  readonly path: string;
  /** Of a message field. */
  readonly fields: readonly FieldBinding[];
}

export interface Binding {
  readonly descriptor: WriterDescriptor;
  readonly columns: readonly Column[];
  readonly fields: readonly FieldBinding[];
  /** Positions of the columns for which the writer schema has no field. */
  readonly absent: readonly number[];
}

const changePseudoColumns = new Set(["_CHANGE_TYPE", "_CHANGE_SEQUENCE_NUMBER"]);

/**
 * @param entity resource name of the stream, for the StorageError
 * @throws AppendRefusal
 */
export function bindColumns(descriptor: WriterDescriptor, columns: readonly Column[], entity: string): Binding {
  const change = descriptor.shape.fields.find(({ name }) => changePseudoColumns.has(name.toUpperCase()));
  if (change) {
    throw new AppendRefusal("UNIMPLEMENTED", `The embedded BigQuery does not take change data (${change.name}) yet`);
  }
  const fields = new Binder(entity).bind(descriptor.shape, columns, "");
  const bound = new Set(fields.map((field) => field.position));
  const absent = columns.map((_, position) => position).filter((position) => !bound.has(position));
  return { descriptor, columns, fields, absent };
}

class Binder {
  readonly #entity: string;

  constructor(entity: string) {
    this.#entity = entity;
  }

  bind(shape: MessageShape, columns: readonly Column[], prefix: string): readonly FieldBinding[] {
    const extra = shape.fields.filter(({ name }) => !columns.some((column) => sameName(column.name, name)));
    if (extra.length > 0) throw this.#extraFields(extra.map(({ name }) => prefix + name));
    for (const column of columns) {
      const isMissing = !shape.fields.some(({ name }) => sameName(column.name, name));
      if (isMissing && column.mode === "REQUIRED" && !column.defaultValue) throw missing(prefix + column.name);
    }
    return shape.fields.map((field) => this.#field(field, columns, prefix));
  }

  #field(shape: FieldShape, columns: readonly Column[], prefix: string): FieldBinding {
    const position = columns.findIndex(({ name }) => sameName(name, shape.name));
    const column = columns[position]!;
    const path = prefix + column.name;
    if ((shape.label === "repeated") !== (column.mode === "REPEATED")) {
      throw mismatch(path, `field label ${shape.label}, column mode ${column.mode}`);
    }
    if (column.fields.length === 0) {
      if (shape.type === "message") throw messageForScalar(path, column);
      if (!takes(column, shape.type)) throw mismatch(path, `field type ${shape.type}, column type ${column.type}`);
      return { shape, column, position, path, fields: [] };
    }
    if (!shape.message) throw mismatch(path, `field type ${shape.type}, column type ${column.type}`);
    return { shape, column, position, path, fields: this.bind(shape.message, column.fields, `${path}.`) };
  }

  #extraFields(paths: readonly string[]): AppendRefusal {
    return new AppendRefusal(
      "INVALID_ARGUMENT",
      `Input schema has more fields than BigQuery schema, extra fields: ${paths.map((path) => `'${path}'`).join(", ")}`,
      { code: "SCHEMA_MISMATCH_EXTRA_FIELDS", entity: this.#entity },
    );
  }
}

function missing(path: string): AppendRefusal {
  return new AppendRefusal("INVALID_ARGUMENT", `Input schema has no field for the REQUIRED column ${path}`);
}

function mismatch(path: string, difference: string): AppendRefusal {
  const words = `The proto field does not match the BigQuery column ${path}: ${difference}`;
  return new AppendRefusal("INVALID_ARGUMENT", words);
}

/** The well-known wrappers are documented as taken; here they are not, and the reader should know which of both it is. */
function messageForScalar(path: string, column: Column): AppendRefusal {
  return new AppendRefusal(
    "INVALID_ARGUMENT",
    `The proto field does not match the BigQuery column ${path}: field type message, column type ${column.type} ` +
      "(google.protobuf wrappers, Timestamp and Duration are not supported by the embedded BigQuery)",
  );
}
