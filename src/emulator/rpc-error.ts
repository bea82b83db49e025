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

/** The refusal of a request that is wrong in itself. */
export function invalidArgument(message: string): RpcError {
  return new RpcError("INVALID_ARGUMENT", message);
}

/** `google.rpc.Status`: code = 1, message = 2, details = 3 (Any: type_url = 1, value = 2). */
function encodeStatus(code: number, message: string, packed: readonly StatusDetail[]): Buffer {
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
