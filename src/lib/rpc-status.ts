/** Reads `google.rpc.Status`, in which Google's services tell more about an error than its gRPC status does. */
import protobuf from "protobufjs/minimal.js";

/** A message about the error. */
export interface RpcDetail {
  /** Its full name, such as `google.rpc.ErrorInfo`. */
  readonly type: string;
  /** In protobuf's wire format. */
  readonly value: Uint8Array;
}

export interface RpcStatus {
  /** gRPC status code; 0 when there is none. */
  readonly code: number;
  readonly message: string;
  readonly details: readonly RpcDetail[];
}

/**
 * code = 1, message = 2, details = 3.
 *
 * @throws Error when the bytes are no protobuf message
 */
export function readRpcStatus(bytes: Uint8Array): RpcStatus {
  const reader = protobuf.Reader.create(bytes);
  let [code, message] = [0, ""];
  const details: RpcDetail[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) code = reader.int32();
    else if (tag >>> 3 === 2) message = reader.string();
    else if (tag >>> 3 === 3) details.push(readAny(reader.bytes()));
    else reader.skipType(tag & 7);
  }
  return { code, message, details };
}

/** `google.protobuf.Any`: type_url = 1, value = 2. */
function readAny(bytes: Uint8Array): RpcDetail {
  const reader = protobuf.Reader.create(bytes);
  let [url, value]: [string, Uint8Array] = ["", new Uint8Array()];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) url = reader.string();
    else if (tag >>> 3 === 2) value = reader.bytes();
    else reader.skipType(tag & 7);
  }
  return { type: url.slice(url.lastIndexOf("/") + 1), value };
}
