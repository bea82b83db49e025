import { afterEach, expect, test } from "vitest";
import { SetupError } from "../../../src/errors.ts";
import { type HttpServer, type Pages, startHttpServer } from "../../../src/http/server.ts";

const pages: Pages = {
  live: () => true,
  ready: () => ({ ready: true, reasons: [] }),
  status: () => ({ version: "1.2.3", pipelines: [] }),
  metrics: (_, response) => response.end("millrace_leases 1\n"),
};

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function get(path: string, changed: Partial<Pages> = {}, init: RequestInit = {}): Promise<Response> {
  server = await startHttpServer({ host: "127.0.0.1", port: 0 }, { ...pages, ...changed });
  return fetch(`http://127.0.0.1:${server.port}${path}`, init);
}

test("/livez answers 200 while the process works, else 503", async () => {
  expect((await get("/livez")).status).toBe(200);
  await server!.close();
  expect((await get("/livez", { live: () => false })).status).toBe(503);
});

test("/readyz answers 200 when ready, else 503 with the reasons", async () => {
  const good = await get("/readyz");
  expect([good.status, await good.json()]).toEqual([200, { ready: true, reasons: [] }]);
  await server!.close();
  const reasons = [{ pipeline: "orders", state: "NOT_FOUND", reason: "no table" }] as const;
  const bad = await get("/readyz", { ready: () => ({ ready: false, reasons }) });
  expect([bad.status, await bad.json()]).toEqual([503, { ready: false, reasons }]);
});

test("/status is JSON that nobody keeps, /metrics is what the exporter writes; a query does not matter", async () => {
  const status = await get("/status?pretty");
  expect(status.headers.get("content-type")).toBe("application/json");
  expect(status.headers.get("cache-control")).toBe("no-store");
  expect(await status.json()).toEqual({ version: "1.2.3", pipelines: [] });
  expect(await (await fetch(`http://127.0.0.1:${server!.port}/metrics`)).text()).toBe("millrace_leases 1\n");
});

test("what is not there is 404, what would change something is 405", async () => {
  expect((await get("/nothing")).status).toBe(404);
  await server!.close();
  const post = await get("/status", {}, { method: "POST" });
  expect([post.status, post.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
});

test("a port that is in use is a setup fault that says so", async () => {
  server = await startHttpServer({ host: "127.0.0.1", port: 0 }, pages);
  const second = startHttpServer({ host: "127.0.0.1", port: server.port }, pages);
  await expect(second).rejects.toThrow(SetupError);
  await expect(second).rejects.toThrow(
    `The HTTP server cannot listen on 127.0.0.1:${server.port}: the port is in use; see service.http in the configuration`,
  );
});
