/** The HTTP server of `run`: probes, metrics and status. It shows states and counts, never payloads, and changes nothing. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SetupError } from "../errors.ts";
import type { Readiness } from "../telemetry/health.ts";

/** What the server shows. */
export interface Pages {
  /** False once the process cannot do its work any more and should be started anew. */
  live(): boolean;
  ready(): Readiness;
  /** Anything that JSON can hold. */
  status(): object;
  metrics(request: IncomingMessage, response: ServerResponse): void;
}

export interface HttpOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
}

export interface HttpServer {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws SetupError when the address cannot be had */
export async function startHttpServer({ host, port }: HttpOptions, pages: Pages): Promise<HttpServer> {
  const paths = pagesByPath(pages);
  const server = createServer((request, response) => answer(request, response, paths));
  await listen(server, host, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const reason = error.code === "EADDRINUSE" ? "the port is in use" : (error.code ?? "unknown error");
      reject(
        new SetupError(
          `The HTTP server cannot listen on ${host}:${port}: ${reason}; see service.http in the configuration`,
        ),
      );
    });
    server.listen(port, host, resolve);
  });
}

type Page = (request: IncomingMessage, response: ServerResponse) => void;

function pagesByPath(pages: Pages): ReadonlyMap<string, Page> {
  return new Map<string, Page>([
    ["/livez", (_, response) => sendProbe(response, pages.live(), { live: pages.live() })],
    ["/readyz", (_, response) => sendProbe(response, pages.ready().ready, pages.ready())],
    ["/status", (_, response) => send(response, 200, pages.status())],
    ["/metrics", (request, response) => pages.metrics(request, response)],
  ]);
}

function answer(request: IncomingMessage, response: ServerResponse, pages: ReadonlyMap<string, Page>): void {
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.setHeader("allow", "GET, HEAD");
    send(response, 405, { error: "method not allowed" });
    return;
  }
  const [path = ""] = (request.url ?? "").split("?", 1);
  const page = pages.get(path);
  if (page) page(request, response);
  else send(response, 404, { error: "not found", pages: [...pages.keys()] });
}

function sendProbe(response: ServerResponse, good: boolean, body: object): void {
  send(response, good ? 200 : 503, body);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(`${JSON.stringify(body, undefined, 2)}\n`);
}
