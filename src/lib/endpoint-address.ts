/** The text of an endpoint, as a configuration or an environment variable gives it. */
import type { Endpoint } from "./endpoint.ts";

export interface EndpointRules {
  /** Plaintext is allowed to any host, and is what a bare `host:port` means. */
  readonly insecure: boolean;
}

const address = /^(?:(https?):\/\/)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?\/?$/;

/**
 * Reads `host:port`, `http://host:port` or `https://host:port`. A bare `host:port` is plaintext when the host is this
 * machine, and then needs its port. Elsewhere the port is 443 unless given (80 for http).
 *
 * @returns the endpoint, or a sentence that says what is wrong
 */
export function parseEndpoint(text: string, rules: EndpointRules): Endpoint | string {
  const [, scheme, bracketed, portText] = address.exec(text) ?? [];
  if (bracketed === undefined) return "expected host:port or a URL such as http://127.0.0.1:8085";
  const host = bracketed.replace(/^\[|\]$/g, "");
  const port = Number(portText ?? (scheme === "http" ? 80 : 443));
  if (port < 1 || port > 65_535) return "expected a port from 1 to 65535";
  const plaintext = scheme ? scheme === "http" : rules.insecure || isLoopback(host);
  // Nothing speaks plaintext on the port of TLS.
  if (plaintext && !scheme && portText === undefined) return "expected a port behind the host, as in 127.0.0.1:8085";
  if (plaintext && !rules.insecure && !isLoopback(host)) {
    return "plaintext is allowed to this machine only; use https, or set endpoints.insecure: true";
  }
  return { host, port, plaintext };
}

/** The host is this machine. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
