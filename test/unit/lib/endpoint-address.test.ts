import { expect, test } from "vitest";
import { parseEndpoint } from "../../../src/lib/endpoint-address.ts";

test.each([
  ["127.0.0.1:8085", { host: "127.0.0.1", port: 8085, plaintext: true }],
  ["localhost:1", { host: "localhost", port: 1, plaintext: true }],
  ["[::1]:9060", { host: "::1", port: 9060, plaintext: true }],
  ["http://localhost:9050/", { host: "localhost", port: 9050, plaintext: true }],
  ["https://localhost:9050", { host: "localhost", port: 9050, plaintext: false }],
  [
    "pubsub.europe-west3.rep.googleapis.com",
    { host: "pubsub.europe-west3.rep.googleapis.com", port: 443, plaintext: false },
  ],
  ["private.example:8443", { host: "private.example", port: 8443, plaintext: false }],
])("%s", (text, endpoint) => {
  expect(parseEndpoint(text, { insecure: false })).toEqual(endpoint);
});

test("plaintext to another machine needs the option", () => {
  expect(parseEndpoint("http://pubsub:8085", { insecure: false })).toMatch("plaintext is allowed to this machine only");
  expect(parseEndpoint("http://pubsub", { insecure: true })).toEqual({ host: "pubsub", port: 80, plaintext: true });
  expect(parseEndpoint("pubsub:8085", { insecure: true })).toEqual({ host: "pubsub", port: 8085, plaintext: true });
  expect(parseEndpoint("https://pubsub:8085", { insecure: true })).toMatchObject({ plaintext: false });
});

test.each(["", "a b:1", "ftp://x:1", "host:port", "http://x/path", "user@host:1", "::1"])(
  "%j is no endpoint",
  (text) => {
    expect(parseEndpoint(text, { insecure: true })).toBe("expected host:port or a URL such as http://127.0.0.1:8085");
  },
);

test("an emulator is not looked for on the port of TLS", () => {
  const fault = "expected a port behind the host, as in 127.0.0.1:8085";
  expect(parseEndpoint("localhost", { insecure: false })).toBe(fault);
  expect(parseEndpoint("pubsub", { insecure: true })).toBe(fault);
});

test.each(["localhost:0", "localhost:65536"])("%s has no port", (text) => {
  expect(parseEndpoint(text, { insecure: true })).toBe("expected a port from 1 to 65535");
});
