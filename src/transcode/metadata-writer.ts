import type { Refusal } from "../errors.ts";
import type { MappingPlan } from "../mapping/mapping-plan.ts";
import type { MetadataColumn } from "../mapping/metadata-columns.ts";
import type { MessageBatch } from "../message.ts";
import { protoTypeOf, wireTypes } from "../schema/wire-type.ts";
import type { WireWriter } from "../write/wire-writer.ts";

/** Writes the columns that come from a message's metadata (BQ-META-02). */
export class MetadataWriter {
  readonly #columns: readonly MetadataColumn[];
  readonly #subscription: string;
  #scratch = Buffer.allocUnsafeSlow(4096);

  constructor({ metadata, options }: MappingPlan) {
    this.#columns = metadata;
    this.#subscription = options.subscription;
  }

  /** Appends the columns to a row. When a column cannot hold its value, what was written is no row. */
  write(batch: MessageBatch, message: number, out: WireWriter): Refusal | undefined {
    for (const column of this.#columns) {
      out.varint32(column.plan.number * 8 + wireTypes[protoTypeOf(column.plan.column)]);
      const length = this.#encode(this.#valueOf(column, batch, message));
      const fault = column.convert(this.#scratch, 0, length, out);
      if (fault) return { ...fault, path: column.plan.path, stage: "transcode" };
    }
    return undefined;
  }

  #valueOf({ field }: MetadataColumn, batch: MessageBatch, message: number): string {
    switch (field) {
      case "subscription_name":
        return this.#subscription;
      case "message_id":
        return batch.messageId(message);
      case "publish_time":
        return batch.publishTimeMicros(message).toString();
      case "attributes":
        return attributesJson(batch, message);
    }
  }

  /** Puts a text into the scratch buffer. Returns how many bytes it took. */
  #encode(text: string): number {
    const most = text.length * 3;
    if (this.#scratch.length < most) this.#scratch = Buffer.allocUnsafeSlow(most);
    return this.#scratch.write(text, 0, "utf8");
  }
}

/** One JSON object of all attributes, and of the ordering key when there is one. */
function attributesJson(batch: MessageBatch, message: number): string {
  const members: string[] = [];
  const orderingKey = batch.orderingKey(message);
  for (const [key, value] of batch.attributes(message)) {
    if (key !== "ordering_key" || orderingKey === "") members.push(jsonMember(key, value));
  }
  if (orderingKey !== "") members.push(jsonMember("ordering_key", orderingKey));
  return `{${members.join(",")}}`;
}

function jsonMember(key: string, value: string): string {
  return `${JSON.stringify(key)}:${JSON.stringify(value)}`;
}
