/** The REST interface over node:http: finds the route, reads the body, applies scripted faults, writes JSON. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Clock, pause } from "../../lib/clock.ts";
import { listen } from "../../lib/listen.ts";
import { callEnding, type CallEnding } from "../call-ending.ts";
import type { Fault, Faults } from "../faults.ts";
import { ApiError, errorBody, errorOfStatus, invalid } from "./api-error.ts";
import type { JsonObject } from "./stored-table.ts";

export interface RestRequest {
  /** Parts of the path by the names that the route gives them. */
  readonly path: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly body: JsonObject;
  readonly headers: IncomingMessage["headers"];
}

export interface Route {
  /** As BigQuery's API calls it, such as `tables.get`; faults go by it. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/bigquery/v2`; `:name` stands for one part. */
  readonly path: string;
  /** Undefined answers 204. @throws ApiError */
  readonly handle: (request: RestRequest) => object | undefined | Promise<object | undefined>;
}

interface CompiledRoute extends Route {
  readonly pattern: RegExp;
}

const maxBodyBytes = 10 * 2 ** 20;

/** Clients that are pointed at an emulator send paths with or without this. */
const prefix = /^(?:\/bigquery\/v2)?(?=\/projects(?:\/|$))/;

export class RestServer {
  readonly #routes: readonly CompiledRoute[];
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #server: Server;

  constructor(routes: readonly Route[], faults: Faults, clock: Clock) {
    this.#routes = routes.map((route) => ({ ...route, pattern: compile(route.path) }));
    this.#faults = faults;
    this.#clock = clock;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** @param port 0 for any free one */
  async listen(port = 0): Promise<void> {
    await listen(this.#server, port, "127.0.0.1");
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const answer = await this.#answer(request, response);
      if (answer !== "ended") send(response, answer === undefined ? 204 : 200, answer);
    } catch (error) {
      const apiError = error instanceof ApiError ? error : new ApiError(500, "internalError", String(error));
      send(response, apiError.status, errorBody(apiError));
    }
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<object | undefined | "ended"> {
    const url = new URL(message.url ?? "/", "http://localhost");
    const pathname = url.pathname.replace(prefix, "");
    const route = this.#routes.find(({ method, pattern }) => method === message.method && pattern.test(pathname));
    const text = await readBody(message);
    if (!route) throw new ApiError(404, "notFound", `The embedded BigQuery has no ${message.method} ${pathname}`);
    const request = {
      path: pathParts(route.pattern, pathname),
      query: url.searchParams,
      body: parseBody(text),
      headers: message.headers,
    };
    const fault = this.#faults.next(route.name);
    const ending = fault && callEnding(fault);
    if (fault?.delayMs && !fault.done) await pause(this.#clock, fault.delayMs);
    if (ending && !ending.afterwards) return end(response, fault, ending);
    const answer = await route.handle(request);
    if (fault?.delayMs && fault.done) await pause(this.#clock, fault.delayMs);
    return ending ? end(response, fault, ending) : answer;
  }
}

/** Ends a request without an answer. @throws ApiError when the fault is a status */
function end(response: ServerResponse, { method, status, message }: Fault, { kind }: CallEnding): "ended" {
  if (status) throw errorOfStatus(status, message ?? `Scripted fault of ${method}`);
  if (kind === "disconnect") response.destroy();
  if (kind === "reset") response.socket?.resetAndDestroy();
  return "ended";
}

function compile(path: string): RegExp {
  return new RegExp(`^${path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}/?$`);
}

function pathParts(pattern: RegExp, pathname: string): Readonly<Record<string, string>> {
  const parts = Object.entries(pattern.exec(pathname)?.groups ?? {});
  try {
    return Object.fromEntries(parts.map(([name, part]) => [name, decodeURIComponent(part)]));
  } catch {
    throw invalid("Path is not well encoded");
  }
}

async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) throw new ApiError(413, "uploadTooLarge", `Body is larger than ${maxBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseBody(text: string): JsonObject {
  if (text === "") return {};
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body as JsonObject;
  } catch {
    // Falls through to the same answer as JSON that is no object.
  }
  throw new ApiError(400, "parseError", "Body is no JSON object");
}

function send(response: ServerResponse, status: number, body: object | undefined): void {
  if (response.destroyed) return;
  response.writeHead(status, { "content-type": "application/json; charset=UTF-8" });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}
