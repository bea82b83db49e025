/** A writer schema that fits a table: what checks its rows when they are appended and decodes them when they are read. */
import { AppendRefusal } from "./append-refusal.ts";
import { bindColumns, type Binding } from "./column-binding.ts";
import type { Column } from "./column.ts";
import { defaultTaker, type MissingValues } from "./missing-values.ts";
import { RowDecoder } from "./row-decoder.ts";
import { RowValidator } from "./row-validator.ts";
import { parseWriterDescriptor, type WriterDescriptor } from "./writer-descriptor.ts";

export class BoundWriter {
  readonly binding: Binding;
  readonly decoder: RowDecoder;
  readonly #validators = new Map<string, RowValidator>();

  /** @throws AppendRefusal */
  constructor(descriptor: WriterDescriptor, columns: readonly Column[], entity: string) {
    this.binding = bindColumns(descriptor, columns, entity);
    try {
      this.decoder = new RowDecoder(this.binding);
    } catch {
      throw new AppendRefusal("INVALID_ARGUMENT", "Invalid proto schema: the default value of a field suits it not");
    }
  }

  validator(missing: MissingValues): RowValidator {
    const key = JSON.stringify(missing);
    let validator = this.#validators.get(key);
    if (!validator) {
      validator = new RowValidator(this.binding, defaultTaker(this.binding, missing));
      this.#validators.set(key, validator);
    }
    return validator;
  }
}

/** Writer schemas of one version of a table, bound once each. */
export class BoundWriters {
  readonly #columns: readonly Column[];
  readonly #writers = new Map<string, BoundWriter>();

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
  }

  /**
   * @param descriptor a serialized DescriptorProto
   * @param entity resource name of the stream, for the StorageError
   * @throws AppendRefusal
   */
  of(descriptor: Buffer, entity: string): BoundWriter {
    const key = descriptor.toString("latin1");
    let writer = this.#writers.get(key);
    if (!writer) {
      writer = new BoundWriter(parseWriterDescriptor(Buffer.from(descriptor)), this.#columns, entity);
      this.#writers.set(key, writer);
    }
    return writer;
  }
}
