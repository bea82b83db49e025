/** Writer schemas and rows for tests of the embedded BigQuery, made with protobufjs from Google's definitions. */
import protobuf from "protobufjs";
import { parseColumns } from "../../../../src/emulator/bigquery/column-parser.ts";
import type { Column } from "../../../../src/emulator/bigquery/column.ts";
import { storageProtos } from "../../../../src/lib/protos.ts";

/** A FieldDescriptorProto: `type` and `label` in small letters, without their prefixes. */
export function field(name: string, number: number, type: string, more: object = {}): object {
  return { name, number, type: `TYPE_${type.toUpperCase()}`, label: "LABEL_OPTIONAL", ...more };
}

export const required = { label: "LABEL_REQUIRED" };
export const repeated = { label: "LABEL_REPEATED" };

/** A serialized DescriptorProto. */
export function descriptor(fields: readonly object[], more: object = {}): Buffer {
  const type = storageProtos().lookupType("google.protobuf.DescriptorProto");
  return Buffer.from(type.encode(type.fromObject({ name: "Row", field: fields, ...more })).finish());
}

export function columns(...fields: readonly object[]): readonly Column[] {
  return parseColumns(fields);
}

export function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(" ", ""), "hex");
}

/** A serialized AppendRowsRequest, from the plain form of the message. */
export function appendRequest(message: object): Buffer {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.AppendRowsRequest");
  return Buffer.from(type.encode(type.fromObject(message)).finish());
}

/** The `protoRows` of a plain AppendRowsRequest. */
export function protoData(rows: readonly Uint8Array[], writerSchema?: Buffer): object {
  const descriptorType = storageProtos().lookupType("google.protobuf.DescriptorProto");
  return {
    rows: { serializedRows: rows },
    ...(writerSchema ? { writerSchema: { protoDescriptor: descriptorType.decode(writerSchema) } } : {}),
  };
}

/** A serialized message whose field 1 is this int64. */
export function int64Row(value: bigint): Buffer {
  const bits = BigInt.asUintN(64, value);
  const long = new protobuf.util.Long(Number(bits & 0xffffffffn) | 0, Number(bits >> 32n) | 0, false);
  return Buffer.from(protobuf.Writer.create().uint32(0x08).int64(long).finish());
}
