/** AppendRowsRequest, read by hand: its rows stay the bytes they are. */
import { type Interpretation } from "./missing-values.ts";
import { InvalidValue } from "./cell.ts";
import { lengthWire, WireReader } from "./wire-reader.ts";

export interface AppendRequest {
  /** Size of the serialized request. */
  readonly byteLength: number;
  /** Empty when the request names none. */
  readonly writeStream: string;
  readonly offset: number | undefined;
  /** A serialized DescriptorProto. */
  readonly descriptor: Buffer | undefined;
  /** A serialized ProtoRows; undefined when the request has no proto_rows.rows. */
  readonly protoRows: Buffer | undefined;
  readonly hasArrowRows: boolean;
  readonly missingByColumn: Readonly<Record<string, Interpretation>>;
  readonly missingOtherwise: Interpretation | undefined;
}

/** Field numbers of google.cloud.bigquery.storage.v1.AppendRowsRequest and the messages in it. */
const field = {
  writeStream: 1,
  offset: 2,
  protoRows: 4,
  arrowRows: 5,
  missingValueInterpretations: 7,
  defaultMissingValueInterpretation: 8,
};

const interpretations: readonly (Interpretation | undefined)[] = [undefined, "NULL_VALUE", "DEFAULT_VALUE"];

/** The parts point into `bytes`. @throws InvalidValue when the bytes are no such message */
export function parseAppendRequest(bytes: Buffer): AppendRequest {
  const parts = messageParts(bytes);
  const protoData = messageParts(parts.bytes.get(field.protoRows)?.at(-1));
  const writerSchema = messageParts(protoData.bytes.get(1)?.at(-1));
  return {
    byteLength: bytes.length,
    writeStream: parts.bytes.get(field.writeStream)?.at(-1)?.toString() ?? "",
    offset: int64Value(parts.bytes.get(field.offset)?.at(-1)),
    descriptor: writerSchema.bytes.get(1)?.at(-1),
    protoRows: protoData.bytes.get(2)?.at(-1),
    hasArrowRows: parts.bytes.has(field.arrowRows),
    missingByColumn: missingByColumn(parts.bytes.get(field.missingValueInterpretations) ?? []),
    missingOtherwise: interpretations[parts.numbers.get(field.defaultMissingValueInterpretation) ?? 0],
  };
}

interface MessageParts {
  /** Length-delimited fields by number, in their order. */
  readonly bytes: ReadonlyMap<number, readonly Buffer[]>;
  /** Low halves of varint fields by number; the last one counts. */
  readonly numbers: ReadonlyMap<number, number>;
}

function messageParts(message: Buffer = Buffer.alloc(0)): MessageParts {
  const bytes = new Map<number, Buffer[]>();
  const numbers = new Map<number, number>();
  const reader = new WireReader(message);
  while (!reader.done) {
    const tag = reader.tag();
    if ((tag & 7) === lengthWire) {
      const start = reader.lengthDelimited();
      const part = message.subarray(start, reader.position);
      const parts = bytes.get(tag >>> 3);
      if (parts) parts.push(part);
      else bytes.set(tag >>> 3, [part]);
    } else {
      reader.skip(tag & 7);
      numbers.set(tag >>> 3, reader.low);
    }
  }
  return { bytes, numbers };
}

/** A `google.protobuf.Int64Value`: value = 1, absent when it is 0. */
function int64Value(message: Buffer | undefined): number | undefined {
  if (message === undefined) return undefined;
  const reader = new WireReader(message);
  let value = 0;
  while (!reader.done) {
    const tag = reader.tag();
    reader.skip(tag & 7);
    if (tag >>> 3 === 1) value = (reader.high | 0) * 2 ** 32 + reader.low;
  }
  return value;
}

/** Entries of a map field: key = 1, value = 2. */
function missingByColumn(entries: readonly Buffer[]): Readonly<Record<string, Interpretation>> {
  return Object.fromEntries(
    entries.map((entry) => {
      const { bytes, numbers } = messageParts(entry);
      const interpretation = interpretations[numbers.get(2) ?? 0];
      if (!interpretation) throw new InvalidValue("Missing value interpretation is unspecified");
      return [bytes.get(1)?.at(-1)?.toString() ?? "", interpretation];
    }),
  );
}
