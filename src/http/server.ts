/** The HTTP server of `run`: probes, metrics and status. It shows states and counts, never payloads, and changes nothing. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { SetupError } from "../errors.ts";
import { listen } from "../lib/listen.ts";
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
  try {
    await listen(server, port, host);
  } catch (error) {
    throw cannotListen(host, port, error);
  }
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function cannotListen(host: string, port: number, error: unknown): SetupError {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  const reason = code === "EADDRINUSE" ? "the port is in use" : code;
  return new SetupError(
    `The HTTP server cannot listen on ${host}:${port}: ${reason}; see service.http in the configuration`,
  );
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
