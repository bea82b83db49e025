/** A plain gRPC client of the Storage Write API, for tables with one column `id INT64`. */
import * as grpc from "@grpc/grpc-js";
import { serviceDefinition, storageProtos } from "../../src/lib/protos.ts";
import { appendRequest, descriptor, field, int64Row, protoData } from "../unit/emulator/bigquery/writer.ts";

const definition = serviceDefinition(storageProtos(), "google.cloud.bigquery.storage.v1.BigQueryWrite");
const writerSchema = descriptor([field("id", 1, "int64")]);

/** Where the server listens. */
export interface StorageAddress {
  readonly host: string;
  readonly storagePort: number;
}

interface Detail {
  readonly type_url: string;
  readonly value: Buffer;
}

interface AppendAnswer {
  readonly appendResult?: { readonly offset: { readonly value: string } | null };
  readonly error?: { readonly code: number; readonly message: string; readonly details: readonly Detail[] };
}

/** Calls a unary method. @param routing parameter of the routing header, which has the request's field of that name */
export async function callMethod<Response>(
  address: StorageAddress,
  method: string,
  routing: string,
  request: Readonly<Record<string, unknown>>,
): Promise<Response> {
  const client = connect(address);
  const { path, requestSerialize, responseDeserialize } = definition[method]!;
  const resource = request[routing.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())];
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        routingTo(routing, String(resource)),
        (error, response) => {
          if (error) reject(error);
          else resolve(response as Response);
        },
      );
    });
  } finally {
    client.close();
  }
}

/** One AppendRows stream on a connection of its own; every request names stream and schema. */
export class AppendStream {
  readonly answers: AppendAnswer[] = [];
  readonly #name: string;
  readonly #client: grpc.Client;
  readonly #call: grpc.ClientDuplexStream<Buffer, AppendAnswer>;
  readonly #ended: Promise<grpc.StatusObject>;

  constructor(address: StorageAddress, name: string) {
    this.#name = name;
    this.#client = connect(address);
    const { path, responseDeserialize } = definition["AppendRows"]!;
    this.#call = this.#client.makeBidiStreamRequest(
      path,
      (request: Buffer) => request,
      responseDeserialize as (bytes: Buffer) => AppendAnswer,
      routingTo("write_stream", name),
    );
    this.#call.on("data", (answer: AppendAnswer) => this.answers.push(answer));
    this.#ended = new Promise((resolve) => {
      this.#call.on("error", () => {});
      this.#call.on("status", resolve);
    });
  }

  append(ids: readonly number[], { offset }: { readonly offset?: number } = {}): void {
    const rows = ids.map((id) => int64Row(BigInt(id)));
    const at = offset === undefined ? {} : { offset: { value: offset } };
    this.#call.write(appendRequest({ writeStream: this.#name, protoRows: protoData(rows, writerSchema), ...at }));
  }

  /** Ends the requests and waits for the end of the answers. */
  async finish(): Promise<grpc.StatusObject> {
    this.#call.end();
    return this.close();
  }

  /** Waits for the end of the stream. */
  async close(): Promise<grpc.StatusObject> {
    const status = await this.#ended;
    this.#client.close();
    return status;
  }
}

function connect({ host, storagePort }: StorageAddress): grpc.Client {
  return new grpc.Client(`${host}:${storagePort}`, grpc.credentials.createInsecure());
}

function routingTo(parameter: string, resource: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set("x-goog-request-params", `${parameter}=${encodeURIComponent(resource)}`);
  return metadata;
}

/** The StorageError in the trailers of a call. */
export function storageErrorIn({ metadata }: grpc.StatusObject): object {
  const [trailer] = metadata.get("google.cloud.bigquery.storage.v1.storageerror-bin");
  return storageError(trailer as Buffer);
}

/** The code of the StorageError in the status of an answer. */
export function storageCodeOf(error: unknown): string | undefined {
  const [detail] = (error as { readonly details?: readonly { readonly value?: unknown }[] } | undefined)?.details ?? [];
  return detail && storageError(detail.value as Uint8Array).code;
}

function storageError(bytes: Uint8Array): { readonly code: string } {
  const type = storageProtos().lookupType("google.cloud.bigquery.storage.v1.StorageError");
  return type.toObject(type.decode(bytes), { enums: String }) as { readonly code: string };
}
