import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { openClient } from "../../../src/lib/endpoint.ts";
import { asBytes } from "../../../src/lib/raw-call.ts";

const outageMs = 60_000;
const stepMs = 250;

test("however long a service cannot be reached, five seconds after its return a connection is tried", async () => {
  const attempts: number[] = [];
  const server = createServer((socket) => {
    attempts.push(Date.now());
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: 0 });
  const client = openClient({ host: "127.0.0.1", port, plaintext: true }, undefined);
  onTestFinished(() => {
    client.close();
    vi.useRealTimers();
    server.close();
  });
  for (let ms = 0; ms < outageMs; ms += stepMs) {
    client.makeUnaryRequest("/a.Service/Method", asBytes, asBytes, Buffer.alloc(0), () => undefined);
    vi.advanceTimersByTime(stepMs);
    // The sockets' time is real: an attempt that is due gets to the server.
    for (let i = 0; i < 20; i++) await turn();
  }
  const gaps = attempts.slice(1).map((at, i) => at - attempts[i]!);
  expect(Math.max(...gaps)).toBeLessThanOrEqual(5000 + stepMs);
  // Nor is it pestered: with 1, 1.6, 2.6 and then 4 s between them, a fifth more or less, there are 14 to 20.
  expect(attempts.length).toBeGreaterThan(10);
  expect(attempts.length).toBeLessThan(25);
});
