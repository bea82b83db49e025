/** The header `x-goog-request-params`, by which the service finds the region of a resource. */
import type { Metadata } from "@grpc/grpc-js";
import { RpcError } from "../rpc-error.ts";

const header = "x-goog-request-params";

/**
 * @param names of the parameters, one of which must be there and name a project
 * @throws RpcError INVALID_ARGUMENT
 */
export function requireRouting(metadata: Metadata, names: readonly string[]): void {
  const text = metadata.get(header).map(String).join("&");
  const params = new URLSearchParams(text);
  const resource = names.map((name) => params.get(name)).find((value) => value !== null);
  if (resource && /^projects\/[^/]+\//.test(resource)) return;
  throw new RpcError(
    "INVALID_ARGUMENT",
    `Cannot route on empty project id: the header ${header} must have ${names.join(" or ")}`,
  );
}
