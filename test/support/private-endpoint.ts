/** A private endpoint in front of a plaintext gRPC server: TLS, and no call without an authorization header. */
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";

const certificate = new URL("../fixtures/tls/localhost.crt", import.meta.url).pathname;

/** What makes a process trust the endpoint. */
export const trust = { GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: certificate };

export interface PrivateEndpoint {
  readonly port: number;
  /** The authorization header of each call that came. */
  readonly authorizations: readonly (string | undefined)[];
  close(): void;
}

/** @param target `host:port` of the server behind it */
export async function startPrivateEndpoint(target: string): Promise<PrivateEndpoint> {
  const authorizations: (string | undefined)[] = [];
  const behind = http2.connect(`http://${target}`);
  const server = http2.createSecureServer({
    cert: readFileSync(certificate),
    key: readFileSync(certificate.replace(".crt", ".key")),
  });
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const { authorization } = headers;
    authorizations.push(authorization);
    if (authorization === undefined) refuse(stream);
    else passOn(stream, headers, behind);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    authorizations,
    close: () => {
      behind.destroy();
      for (const session of sessions) session.destroy();
      server.close();
    },
  };
}

/** 16 is UNAUTHENTICATED. */
function refuse(stream: http2.ServerHttp2Stream): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "16" }, { endStream: true });
}

function passOn(
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  behind: http2.ClientHttp2Session,
): void {
  const call = behind.request({ ...headers, ":authority": undefined });
  call.on("response", (answer) => stream.respond(answer, { waitForTrailers: true }));
  call.on("trailers", (trailers) => stream.on("wantTrailers", () => stream.sendTrailers(trailers)));
  for (const side of [call, stream]) side.on("error", () => undefined);
  stream.on("close", () => call.close());
  stream.pipe(call);
  call.pipe(stream);
}
