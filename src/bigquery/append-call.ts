/** The AppendRows call itself: bytes out, bytes in. */
import type { Metadata, StatusObject } from "@grpc/grpc-js";
import { type Credentials, type Endpoint, openClient } from "../lib/endpoint.ts";
import { asBytes, routingHeader } from "../lib/raw-call.ts";
import { readStatus, readStorageError } from "./append-answer.ts";

/** One open call. */
export interface AppendCall {
  /** The bytes must stay as they are until the answer. */
  write(request: Buffer): void;
  /** No further request comes; the server answers what it has and ends the call. */
  end(): void;
  /** Cuts the call. */
  cancel(): void;
}

/** How a call ended. */
export interface CallEnd {
  /** gRPC status code. */
  readonly code: number;
  readonly message: string;
  /** `StorageErrorCode`; 0 when there is none. */
  readonly storageError: number;
}

export interface CallEvents {
  answered(response: Buffer): void;
  /** Nothing comes after it. */
  ended(end: CallEnd): void;
}

/** Opens a call to a write stream, given by its resource name. */
export type OpenCall = (events: CallEvents, writeStream: string) => AppendCall;

const path = "/google.cloud.bigquery.storage.v1.BigQueryWrite/AppendRows";

/** Calls to write streams, each on a connection of its own. */
export function appendCalls(endpoint: Endpoint, credentials: Credentials | undefined): OpenCall {
  return (events, writeStream) => {
    // gRPC's own retries would keep requests that are not theirs to keep.
    const client = openClient(endpoint, credentials, { "grpc.enable_retries": 0 });
    const metadata = routingHeader("write_stream", writeStream);
    const call = client.makeBidiStreamRequest(path, asBytes, asBytes, metadata);
    let status: StatusObject | undefined;
    let drained = false;
    // The status may overtake answers that wait in the stream's buffer: the end is when both have come.
    const endWhenComplete = (): void => {
      if (!status || !drained) return;
      client.close();
      events.ended({ code: status.code, message: status.details, storageError: storageErrorOf(status.metadata) });
    };
    call.on("data", (response: Buffer) => events.answered(response));
    call.on("end", () => {
      drained = true;
      endWhenComplete();
    });
    call.on("status", (received) => {
      status = received;
      endWhenComplete();
    });
    // The status says it all; without a listener Node would throw.
    call.on("error", () => undefined);
    return {
      write: (request) => void call.write(request),
      end: () => void call.end(),
      cancel: () => call.cancel(),
    };
  };
}

/** The storage error that the trailers of a call carry; 0 when there is none. */
export function storageErrorOf(trailers: Metadata): number {
  try {
    const [own] = trailers.get("google.cloud.bigquery.storage.v1.storageerror-bin");
    if (own instanceof Buffer) return readStorageError(own);
    const [details] = trailers.get("grpc-status-details-bin");
    return details instanceof Buffer ? readStatus(details).storageError : 0;
  } catch {
    return 0;
  }
}
