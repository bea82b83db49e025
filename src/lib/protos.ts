/** Google's own definitions of its services, as the client packages carry them, read by protobufjs. */
import { createRequire } from "node:module";
import type { MethodDefinition, ServiceDefinition } from "@grpc/grpc-js";
import protobuf from "protobufjs";

const load = createRequire(import.meta.url);

function lazyRoot(file: string): () => protobuf.Root {
  let root: protobuf.Root | undefined;
  return () => {
    root ??= protobuf.Root.fromJSON(load(file) as protobuf.INamespace);
    return root;
  };
}

/** `google.pubsub.v1`, with the well-known types it uses. */
export const pubsubProtos = lazyRoot("@google-cloud/pubsub/build/protos/protos.json");

/** `google.cloud.bigquery.storage.v1`, with `google.rpc.Status` and the descriptor types. */
export const storageProtos = lazyRoot("@google-cloud/bigquery-storage/build/protos/protos.json");

/** Messages as the definitions' defaults read: enums by name, int64 as text, bytes as Buffer, absent fields filled. */
const plain: protobuf.IConversionOptions = { longs: String, enums: String, defaults: true, arrays: true, oneofs: true };

/** A service in the form that grpc-js takes; requests and responses are plain objects. */
export function serviceDefinition(root: protobuf.Root, name: string): ServiceDefinition {
  const service = root.lookupService(name);
  return Object.fromEntries(service.methodsArray.map((method) => [method.name, methodDefinition(name, method)]));
}

function methodDefinition(service: string, method: protobuf.Method): MethodDefinition<object, object> {
  method.resolve();
  const request = method.resolvedRequestType!;
  const response = method.resolvedResponseType!;
  return {
    path: `/${service}/${method.name}`,
    requestStream: Boolean(method.requestStream),
    responseStream: Boolean(method.responseStream),
    requestSerialize: encoder(request),
    requestDeserialize: decoder(request),
    responseSerialize: encoder(response),
    responseDeserialize: decoder(response),
    originalName: method.name,
  };
}

const encoder =
  (type: protobuf.Type) =>
  (message: object): Buffer =>
    Buffer.from(type.encode(type.fromObject(message)).finish());

const decoder =
  (type: protobuf.Type) =>
  (bytes: Buffer): object =>
    type.toObject(type.decode(bytes), plain);
