/** Unary gRPC calls whose request and response are bytes: what is on the wire is built and read by the caller. */
import * as grpc from "@grpc/grpc-js";

/** Passes bytes through where gRPC asks for a codec. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/**
 * Calls a method once.
 *
 * @param path      `/package.Service/Method`
 * @param timeoutMs how long an answer is waited for
 * @throws grpc.ServiceError with the status of the call
 */
export function callUnary(
  client: grpc.Client,
  path: string,
  request: Buffer,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      path,
      asBytes,
      asBytes,
      request,
      new grpc.Metadata(),
      { deadline: Date.now() + timeoutMs },
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error) reject(error);
        else resolve(response ?? Buffer.alloc(0));
      },
    );
    const cancel = (): void => call.cancel();
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** The gRPC status of a failed call, by number; UNKNOWN for an error that is no status. */
export function statusOf(error: unknown): grpc.status {
  if (error instanceof Error && "code" in error && typeof error.code === "number" && error.code in grpc.status) {
    return error.code;
  }
  return grpc.status.UNKNOWN;
}

/** The name of a gRPC status, such as `UNAVAILABLE`. */
export function statusName(code: grpc.status): string {
  return grpc.status[code] ?? String(code);
}

/** The server's (or the channel's) own words about a failed call. */
export function detailsOf(error: unknown): string {
  if (error instanceof Error && "details" in error && typeof error.details === "string") return error.details;
  return error instanceof Error ? error.message : String(error);
}
