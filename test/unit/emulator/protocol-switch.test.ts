import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listen } from "../../../src/lib/listen.ts";
import { switchByProtocol } from "../../../src/emulator/protocol-switch.ts";

let server: Server;
let port: number;

beforeEach(async () => {
  const http1 = createHttpServer((request, response) => response.end(`HTTP/1 ${request.method} ${request.url}`));
  const http2 = createHttp2Server((request, response) => response.end(`HTTP/2 ${request.method} ${request.url}`));
  server = createServer((socket) =>
    switchByProtocol(
      socket,
      () => http2.emit("connection", socket),
      () => http1.emit("connection", socket),
    ),
  );
  await listen(server, 0, "127.0.0.1");
  ({ port } = server.address() as AddressInfo);
});
afterEach(() => {
  server.close();
});

test.each(["GET", "POST", "PUT", "PATCH"])("HTTP/1 %s", async (method) => {
  const response = await fetch(`http://127.0.0.1:${port}/x`, {
    method,
    headers: { connection: "close" },
    ...(method !== "GET" && { body: "b".repeat(100_000) }),
  });
  expect(await response.text()).toBe(`HTTP/1 ${method} /x`);
});

test("HTTP/2", async () => {
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const stream = session.request({ ":path": "/x" });
  stream.setEncoding("utf8");
  const [text] = (await once(stream, "data")) as [string];
  session.close();
  expect(text).toBe("HTTP/2 GET /x");
});

test("bytes that come one by one", async () => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let answer = "";
  socket.setEncoding("utf8").on("data", (text: string) => (answer += text));
  for (const letter of "PUT /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") {
    socket.write(letter);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await once(socket, "close");
  expect(answer).toContain("HTTP/1 PUT /x");
});

test("a connection that ends or is reset before it has said anything disturbs nobody", async () => {
  const [ended, reset] = [0, 1].map(() => connect({ port, host: "127.0.0.1" }));
  await Promise.all([once(ended!, "connect"), once(reset!, "connect")]);
  ended!.end("PR");
  reset!.resetAndDestroy();
  await once(ended!.resume(), "close");
  const response = await fetch(`http://127.0.0.1:${port}/x`, { headers: { connection: "close" } });
  expect(await response.text()).toBe("HTTP/1 GET /x");
});
