/** Statuses with which the embedded services answer. */
import * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs";

export type StatusName = keyof typeof grpc.status;

/** One packed message of `google.rpc.Status.details`. */
export interface StatusDetail {
  /** Full name of the message, such as `google.rpc.ErrorInfo`. */
  readonly type: string;
  readonly value: Uint8Array;
}

/** A call's final status other than OK, in the form that grpc-js sends. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: grpc.status;
  readonly details: string;
  readonly metadata = new grpc.Metadata();

  /** @param packed travel in the trailer `grpc-status-details-bin`, where Google's clients look for them */
  constructor(status: StatusName, message: string, packed: readonly StatusDetail[] = []) {
    super(message);
    this.code = grpc.status[status];
    this.details = message;
    if (packed.length > 0) this.metadata.set("grpc-status-details-bin", encodeStatus(this.code, message, packed));
  }
}

/** @throws Error when gRPC has no such status */
export function statusName(name: string): StatusName {
  if (name in grpc.status && Number.isNaN(Number(name))) return name as StatusName;
  throw new Error(`gRPC has no status ${name}`);
}

/** `google.rpc.ErrorInfo`: the reason in a form that programs read. */
export function errorInfo(
  reason: string,
  domain: string,
  metadata: Readonly<Record<string, string>> = {},
): StatusDetail {
  const writer = protobuf.Writer.create().uint32(0x0a).string(reason).uint32(0x12).string(domain);
  for (const [key, value] of Object.entries(metadata)) {
    writer.uint32(0x1a).fork().uint32(0x0a).string(key).uint32(0x12).string(value).ldelim();
  }
  return { type: "google.rpc.ErrorInfo", value: writer.finish() };
}

/** `google.rpc.Status`: code = 1, message = 2, details = 3 (Any: type_url = 1, value = 2). */
export function encodeStatus(code: number, message: string, packed: readonly StatusDetail[]): Buffer {
  const writer = protobuf.Writer.create().uint32(0x08).int32(code).uint32(0x12).string(message);
  for (const detail of packed) {
    writer.uint32(0x1a).fork().uint32(0x0a).string(`type.googleapis.com/${detail.type}`);
    writer.uint32(0x12).bytes(detail.value).ldelim();
  }
  return Buffer.from(writer.finish());
}

/** What a client sees of an error: an RpcError as it is, anything else as INTERNAL with its message. */
export function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError("INTERNAL", error instanceof Error ? error.message : String(error));
}
