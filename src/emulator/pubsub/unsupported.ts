import { RpcError } from "../rpc-error.ts";

/**
 * Refuses properties that the service has and this server has not: they must not look as if they worked.
 *
 * @param asked names of those that a resource sets; what is falsy is not set
 * @throws RpcError UNIMPLEMENTED
 */
export function refuseUnsupported(asked: readonly (string | false | null | undefined)[]): void {
  const names = asked.filter(Boolean);
  if (names.length === 0) return;
  throw new RpcError("UNIMPLEMENTED", `The embedded Pub/Sub has no ${names.join(", no ")}: leave it out`);
}
