/** Where a Google API is reached, and how a gRPC client for it is made. */
import * as grpc from "@grpc/grpc-js";
import type { GoogleAuth } from "google-auth-library";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** Plaintext endpoints (emulators) never get credentials. */
  readonly plaintext: boolean;
}

/** `host:port` as gRPC and HTTP write it. */
function authority(endpoint: Endpoint): string {
  const host = endpoint.host.includes(":") ? `[${endpoint.host}]` : endpoint.host;
  return `${host}:${endpoint.port}`;
}

/** The base URL of a REST endpoint, without a slash at its end. */
export function baseUrl(endpoint: Endpoint): string {
  return `${endpoint.plaintext ? "http" : "https"}://${authority(endpoint)}`;
}

/** What signs calls to endpoints that are not plaintext. Loaded only where such an endpoint is. */
export type Credentials = GoogleAuth;

/**
 * Between two attempts to connect; gRPC adds up to a fifth. By default it would be two minutes, in which every call fails at
 * once although the service has long been back.
 */
const maxReconnectBackoffMs = 4000;

/**
 * A gRPC client with a channel of its own.
 *
 * @param credentials needed unless the endpoint is plaintext
 */
export function openClient(
  endpoint: Endpoint,
  credentials: Credentials | undefined,
  options: grpc.ClientOptions = {},
): grpc.Client {
  return new grpc.Client(authority(endpoint), channelCredentials(endpoint, credentials), {
    "grpc.max_receive_message_length": -1,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 20_000,
    "grpc.max_reconnect_backoff_ms": maxReconnectBackoffMs,
    // Clients of one process would otherwise share one connection and its flow-control window.
    "grpc.use_local_subchannel_pool": 1,
    ...options,
  });
}

function channelCredentials(endpoint: Endpoint, credentials: Credentials | undefined): grpc.ChannelCredentials {
  if (endpoint.plaintext || !credentials) return grpc.credentials.createInsecure();
  return grpc.credentials.combineChannelCredentials(grpc.credentials.createSsl(), callCredentials(credentials));
}

function callCredentials(credentials: Credentials): grpc.CallCredentials {
  return grpc.credentials.createFromMetadataGenerator(({ service_url: url }, callback) => {
    const answer = async (): Promise<void> => {
      try {
        const metadata = new grpc.Metadata();
        for (const [name, value] of await credentials.getRequestHeaders(url)) metadata.set(name, value);
        callback(null, metadata);
      } catch (error) {
        callback(error instanceof Error ? error : new Error(String(error)));
      }
    };
    void answer();
  });
}
