/** Who gets credentials: a TLS endpoint does, with every call; a plaintext endpoint never does. */
import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import type * as Grpc from "@grpc/grpc-js";
import type { Credentials } from "../../src/lib/endpoint.ts";

const certificate = new URL("../fixtures/tls/localhost.crt", import.meta.url).pathname;
// grpc-js reads this when it is loaded, which the imports below do.
process.env["GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"] = certificate;
const grpc = await import("@grpc/grpc-js");
const { openClient } = await import("../../src/lib/endpoint.ts");

const path = "/test.Echo/Authorization";
const bytes = (value: Buffer): Buffer => value;
const credentials = {
  getRequestHeaders: (url: string) => Promise.resolve(new Headers({ authorization: `Bearer for ${url}` })),
} as unknown as Credentials;

const open: { close(): void }[] = [];
afterEach(() => {
  for (const part of open.splice(0)) part.close();
});

/** A server whose one method answers with the authorization header that came along; returns its port. */
async function startEcho(serverCredentials: Grpc.ServerCredentials): Promise<number> {
  const server = new grpc.Server();
  const method = {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  } as const;
  server.addService(
    { authorization: method },
    {
      authorization: (call: Grpc.ServerUnaryCall<Buffer, Buffer>, answer: Grpc.sendUnaryData<Buffer>) => {
        answer(null, Buffer.from(call.metadata.get("authorization").join()));
      },
    },
  );
  open.push({ close: () => server.forceShutdown() });
  return await new Promise((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", serverCredentials, (error, port) => (error ? reject(error) : resolve(port)));
  });
}

function callEcho(port: number, plaintext: boolean): Promise<string> {
  const client = openClient({ host: "localhost", port, plaintext }, credentials);
  open.push(client);
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, bytes, bytes, Buffer.alloc(0), (error, answer) =>
      error ? reject(error) : resolve(answer!.toString()),
    );
  });
}

test("a TLS endpoint gets the credentials with every call", async () => {
  const pair = {
    cert_chain: readFileSync(certificate),
    private_key: readFileSync(certificate.replace(".crt", ".key")),
  };
  const port = await startEcho(grpc.ServerCredentials.createSsl(null, [pair]));
  expect(await callEcho(port, false)).toMatch(/^Bearer for https:\/\/localhost/);
});

test("a plaintext endpoint gets none, though there are some", async () => {
  const port = await startEcho(grpc.ServerCredentials.createInsecure());
  expect(await callEcho(port, true)).toBe("");
});
