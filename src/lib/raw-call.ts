/** Unary gRPC calls whose request and response are bytes: what is on the wire is built and read by the caller. */
import * as grpc from "@grpc/grpc-js";

/** Passes bytes through where gRPC asks for a codec. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/** The header by which Google's front ends route a call, such as `subscription=projects%2F…`. */
export function routingHeader(name: string, resource: string): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set("x-goog-request-params", `${name}=${encodeURIComponent(resource)}`);
  return metadata;
}

export interface UnaryCall {
  readonly client: grpc.Client;
  /** `/package.Service/Method` */
  readonly path: string;
  readonly metadata: grpc.Metadata;
  readonly request: Buffer;
  /** How long an answer is waited for. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Calls a method once.
 *
 * @throws grpc.ServiceError with the status of the call; CANCELLED when the signal is aborted
 */
export function callUnary({ client, path, metadata, request, timeoutMs, signal }: UnaryCall): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      path,
      asBytes,
      asBytes,
      request,
      metadata.clone(),
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
  if (!(error instanceof Error) || !("code" in error)) return grpc.status.UNKNOWN;
  return allStatuses.find((status) => status === error.code) ?? grpc.status.UNKNOWN;
}

const allStatuses = Object.values(grpc.status).filter((value) => typeof value !== "string");

/** The name of a gRPC status, such as `UNAVAILABLE`. */
export function statusName(code: grpc.status): string {
  return grpc.status[code] ?? String(code);
}

/** The server's (or the channel's) own words about a failed call. */
export function detailsOf(error: unknown): string {
  if (error instanceof Error && "details" in error && typeof error.details === "string") {
    return plainDetails(error.details);
  }
  return error instanceof Error ? error.message : String(error);
}

const noConnection =
  /^No connection established\. Last error: (?:Error: )?(.*?)(?: \(\d{4}-[\d-]+T[\d:.]+Z\))?\. Resolution note: /s;

/** Of a channel that gets no connection, the cause alone: without the phrases around it, and the same at every try. */
export function plainDetails(details: string): string {
  return noConnection.exec(details)?.[1] ?? details;
}
