/** Unary methods of the embedded services: plain functions, with scripted faults around them. */
import type { handleUnaryCall, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { pause, type Clock } from "../lib/clock.ts";
import type { Fault, Faults } from "./faults.ts";
import type { GrpcServer } from "./grpc-server.ts";
import { asRpcError, RpcError } from "./rpc-error.ts";

/** What a unary method needs beside its own work. */
export interface MethodHost {
  readonly server: GrpcServer;
  readonly faults: Faults;
  readonly clock: Clock;
}

/**
 * Answers with what `handle` returns, or with the RpcError that it throws. A fault that is due for this call comes first:
 * its delay, then its status or disconnect. Of all faults only `disconnect: "after"` lets the call take effect.
 */
export function unaryMethod<Request, Response>(
  { server, faults, clock }: MethodHost,
  name: string,
  handle: (request: Request, call: ServerUnaryCall<Request, Response>) => Response | Promise<Response>,
): handleUnaryCall<Request, Response> {
  const serve = async (call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>): Promise<void> => {
    try {
      const fault = faults.next(name);
      if (fault?.delayMs) await pause(clock, fault.delayMs);
      const error = fault && scriptedError(fault);
      if (error) throw error;
      if (fault?.disconnect === "before") return server.disconnect(call);
      const response = await handle(call.request, call);
      if (fault?.disconnect === "after") return server.disconnect(call);
      callback(null, response);
    } catch (error) {
      callback(asRpcError(error));
    }
  };
  return (call, callback) => void serve(call, callback);
}

/** The status that a fault answers with, if it is one that does. */
export function scriptedError({ method, status, message }: Fault): RpcError | undefined {
  return status && new RpcError(status, message ?? `Scripted fault of ${method}`);
}
