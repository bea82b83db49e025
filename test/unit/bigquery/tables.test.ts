import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fetchTable, TableUnavailable } from "../../../src/bigquery/tables.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Credentials, Endpoint } from "../../../src/lib/endpoint.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

let server: Server;
let endpoint: Endpoint;
let answer: { readonly status: number; readonly body: string };
let request: IncomingMessage | undefined;

beforeAll(async () => {
  server = createServer((received, response) => {
    request = received;
    response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = { host: "127.0.0.1", port: (server.address() as AddressInfo).port, plaintext: true };
});

afterAll(() => {
  server.close();
});

const table = { project: "example.com:p", dataset: "d", table: "größe 1" };
const never = new AbortController().signal;

const troubleOf = async (credentials?: Credentials): Promise<TableUnavailable> => {
  const failed = fetchTable(table, { endpoint, credentials, clock: systemClock }, never);
  const error: unknown = await failed.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TableUnavailable);
  return error as TableUnavailable;
};

test("reads columns and primary key, and asks for nothing else", async () => {
  const body = {
    schema: { fields: [{ name: "id", type: "INTEGER", mode: "REQUIRED" }] },
    tableConstraints: { primaryKey: { columns: ["id"] } },
  };
  answer = { status: 200, body: JSON.stringify(body) };
  const schema = await fetchTable(table, { endpoint, credentials: undefined, clock: systemClock }, never);
  expect(schema.columns).toMatchObject([{ name: "id", type: "INT64", mode: "REQUIRED" }]);
  expect(schema.primaryKey).toEqual(["id"]);
  expect(request!.url).toBe(
    "/bigquery/v2/projects/example.com%3Ap/datasets/d/tables/gr%C3%B6%C3%9Fe%201?selectedFields=schema,tableConstraints",
  );
});

test.each([
  [401, "", "PERMISSION_DENIED", /credentials/],
  [
    403,
    '{"error":{"errors":[{"reason":"accessDenied"}]}}',
    "PERMISSION_DENIED",
    /bigquery\.tables\.get.*roles\/bigquery\.dataEditor/,
  ],
  [403, '{"error":{"errors":[{"reason": "rateLimitExceeded"}]}}', "THROTTLED", /quota/],
  [404, "", "NOT_FOUND", /create it/],
  [429, "", "THROTTLED", /quota/],
  [500, "", "UNAVAILABLE", /HTTP status 500/],
  [503, "", "UNAVAILABLE", /HTTP status 503/],
  [200, "no json", "SCHEMA_MISMATCH", /not JSON/],
  [200, '{"schema":{"fields":[{"name":"x","type":"NONSENSE"}]}}', "SCHEMA_MISMATCH", /cannot be read/],
])("HTTP status %i %s: %s", async (status, body, state, reason) => {
  answer = { status, body };
  const { trouble } = await troubleOf();
  expect(trouble.state).toBe(state);
  expect(trouble.reason).toMatch(reason);
});

test("an endpoint that does not answer is named, with the system's word for it", async () => {
  const nobody = createServer();
  await new Promise<void>((resolve) => nobody.listen(0, "127.0.0.1", resolve));
  const { port } = nobody.address() as AddressInfo;
  await new Promise((resolve) => nobody.close(resolve));
  const away = { host: "127.0.0.1", port, plaintext: true };
  const failed = fetchTable(table, { endpoint: away, credentials: undefined, clock: systemClock }, never);
  await expect(failed).rejects.toThrow(
    new RegExp(`^the table's schema could not be fetched from 127\\.0\\.0\\.1:${port}: ECONNREFUSED$`),
  );
});

test("a plaintext endpoint gets no credentials", async () => {
  answer = { status: 404, body: "" };
  const credentials = {
    getRequestHeaders: () => Promise.reject(new Error("asked for a token")),
  } as unknown as Credentials;
  expect((await troubleOf(credentials)).trouble.state).toBe("NOT_FOUND");
  expect(request!.headers.authorization).toBeUndefined();
});

test("an endpoint at which nobody listens is unavailable, by the name of the system's error", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const failed = fetchTable(
    table,
    { endpoint: { ...endpoint, port }, credentials: undefined, clock: systemClock },
    never,
  );
  await expect(failed).rejects.toMatchObject({ trouble: { state: "UNAVAILABLE", reason: /ECONNREFUSED/ } });
});

test("a token that does not come is not waited for longer than for the table", async () => {
  const clock = new VirtualClock();
  const asked = Promise.withResolvers<never>();
  const credentials = { getRequestHeaders: () => asked.promise } as unknown as Credentials;
  const signed = { ...endpoint, plaintext: false };
  const failed = fetchTable(table, { endpoint: signed, credentials, clock }, never).catch((error: unknown) => error);
  await clock.advance(29_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await failed).toMatchObject({ trouble: { state: "UNAVAILABLE", reason: /no access token came in time/ } });
  // What comes of it later bothers nobody.
  asked.reject(new Error("too late"));
  await clock.advance(0);
});
