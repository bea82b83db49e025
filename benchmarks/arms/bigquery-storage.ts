/** The official way: `JSON.parse`, the conversions that the client leaves to its users, and its JSON encoder. */
import { createRequire } from "node:module";
import { storageProtos } from "../../src/lib/protos.ts";
import type { Column } from "../../src/schema/table-schema.ts";
import type { Arm } from "../arm.ts";
import type { Corpus } from "../corpus.ts";
import { RowReader } from "../../test/support/row-reader.ts";
import { comparableRow } from "./peer-row.ts";
import { documentConversion, type Document } from "./user-conversions.ts";

interface JsonEncoder {
  encodeRows(rows: readonly object[]): readonly Uint8Array[];
}

interface StorageClient {
  readonly adapt: {
    convertStorageSchemaToProto2Descriptor(schema: object, scope: string): object;
  };
}

interface EncoderModule {
  readonly JSONEncoder: new (options: { readonly protoDescriptor: object }) => JsonEncoder;
}

const load = createRequire(import.meta.url);

export function bigQueryStorage({ table, payloads, parts }: Corpus): Arm {
  const client = load("@google-cloud/bigquery-storage") as StorageClient;
  const { JSONEncoder } = load("@google-cloud/bigquery-storage/build/src/managedwriter/encoder.js") as EncoderModule;
  const schema = { fields: storageFields(table.columns) };
  const protoDescriptor = client.adapt.convertStorageSchemaToProto2Descriptor(schema, "root");
  const encoder = new JSONEncoder({ protoDescriptor });
  const convert = documentConversion(table.columns);
  const encode = (part: readonly Buffer[]): readonly Uint8Array[] =>
    encoder.encodeRows(part.map((payload) => convert(JSON.parse(payload.toString()) as Document)));
  return {
    run(part) {
      encode(parts[part]!);
    },
    rows(count) {
      const reader = new RowReader(descriptorBytes(protoDescriptor));
      return encode(payloads.slice(0, count)).map((row) => comparableRow(reader.read(row), table.columns));
    },
  };
}

/** The storage API has a name of its own for one of the types. */
function storageFields(columns: readonly Column[]): readonly object[] {
  return columns.map(({ name, type, mode, fields }) => ({
    name,
    type: type === "FLOAT64" ? "DOUBLE" : type,
    mode,
    ...(type === "STRUCT" && { fields: storageFields(fields) }),
  }));
}

function descriptorBytes(descriptor: object): Uint8Array {
  const type = storageProtos().lookupType("google.protobuf.DescriptorProto");
  return type.encode(type.fromObject(descriptor)).finish();
}
