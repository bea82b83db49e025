/** Unary methods of the embedded services: plain functions, with scripted faults around them. */
import type { handleUnaryCall, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { pause, type Clock } from "../lib/clock.ts";
import { callEnding, endConnection, scriptedError, type CallEnding } from "./call-ending.ts";
import type { Fault, Faults } from "./faults.ts";
import type { GrpcServer } from "./grpc-server.ts";
import { asRpcError } from "./rpc-error.ts";

/** What a unary method needs beside its own work. */
export interface MethodHost {
  readonly server: GrpcServer;
  readonly faults: Faults;
  readonly clock: Clock;
}

/**
 * Answers with what `handle` returns, or with the RpcError that it throws. A fault that is due for this call comes before
 * that, or after it where the script says so; `handle` is told of it, for what only the method itself can do.
 */
export function unaryMethod<Request, Response>(
  { server, faults, clock }: MethodHost,
  name: string,
  handle: (
    request: Request,
    call: ServerUnaryCall<Request, Response>,
    fault: Fault | undefined,
  ) => Response | Promise<Response>,
): handleUnaryCall<Request, Response> {
  const serve = async (call: ServerUnaryCall<Request, Response>, callback: sendUnaryData<Response>): Promise<void> => {
    try {
      const fault = faults.next(name);
      const ending = fault && callEnding(fault);
      if (fault?.goaway) server.goAway(call);
      if (fault?.delayMs && !fault.done) await pause(clock, fault.delayMs);
      if (ending && !ending.afterwards) return end(call, fault, ending);
      const response = await handle(call.request, call, fault);
      if (fault?.delayMs && fault.done) await pause(clock, fault.delayMs);
      if (ending) return end(call, fault, ending);
      callback(null, response);
    } catch (error) {
      callback(asRpcError(error));
    }
  };
  /** @throws RpcError when the fault is a status */
  const end = (call: ServerUnaryCall<Request, Response>, fault: Fault, ending: CallEnding): void => {
    const error = scriptedError(fault);
    if (error) throw error;
    endConnection(server, call, ending);
  };
  return (call, callback) => void serve(call, callback);
}
