/** The ways in which a scripted fault ends a call: a status, a cut connection, or silence. */
import type { Fault } from "./faults.ts";
import type { GrpcServer, Peered } from "./grpc-server.ts";
import { RpcError } from "./rpc-error.ts";

export interface CallEnding {
  readonly kind: "status" | "disconnect" | "reset" | "hang";
  /** Whether the request takes effect first. */
  readonly afterwards: boolean;
}

/** How the fault ends its call; undefined when the call goes on to its answer. */
export function callEnding({ status, done, disconnect, reset, hang }: Fault): CallEnding | undefined {
  if (status) return { kind: "status", afterwards: done === true };
  if (disconnect) return { kind: "disconnect", afterwards: disconnect === "after" };
  if (reset) return { kind: "reset", afterwards: reset === "after" };
  return hang && { kind: "hang", afterwards: hang === "after" };
}

/** The status that a fault answers with, if it is one that does. */
export function scriptedError({ method, status, message }: Fault): RpcError | undefined {
  return status && new RpcError(status, message ?? `Scripted fault of ${method}`);
}

/** Does to the connection of a call what the ending says; `hang` does nothing, and nothing is to follow. */
export function endConnection(server: GrpcServer, call: Peered, { kind }: CallEnding): void {
  if (kind === "disconnect") server.disconnect(call);
  if (kind === "reset") server.reset(call);
}
