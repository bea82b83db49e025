/** Reads `AppendRowsResponse` and the storage errors that statuses carry. */
import protobuf from "protobufjs/minimal.js";
import { readRpcStatus } from "../lib/rpc-status.ts";

/** A row that BigQuery names as the reason why it refused the request. */
export interface RowError {
  /** Position of the row in its request. */
  readonly index: number;
  /** BigQuery's own words; they may quote the value. */
  readonly message: string;
}

export interface AppendAnswer {
  /** gRPC status code; 0 when the rows are stored. */
  readonly code: number;
  readonly message: string;
  /** `StorageErrorCode`; 0 when there is none. */
  readonly storageError: number;
  readonly rowErrors: readonly RowError[];
  /** The table has another schema than the one this connection began with. */
  readonly schemaUpdated: boolean;
}

interface Status {
  code: number;
  message: string;
  storageError: number;
}

/** @throws Error when the bytes are no protobuf message */
export function readAnswer(bytes: Uint8Array): AppendAnswer {
  const reader = protobuf.Reader.create(bytes);
  let status: Status = { code: 0, message: "", storageError: 0 };
  let schemaUpdated = false;
  const rowErrors: RowError[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    switch (tag >>> 3) {
      case 2:
        status = readStatus(reader.bytes());
        break;
      case 3:
        schemaUpdated = true;
        reader.skipType(tag & 7);
        break;
      case 4:
        rowErrors.push(readRowError(reader.bytes()));
        break;
      default:
        reader.skipType(tag & 7);
    }
  }
  return { ...status, rowErrors, schemaUpdated };
}

/** `google.cloud.bigquery.storage.v1.RowError`: index = 1, code = 2, message = 3. */
function readRowError(bytes: Uint8Array): RowError {
  const reader = protobuf.Reader.create(bytes);
  let index = 0;
  let message = "";
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    // An int64 on the wire; a request has far fewer rows.
    if (tag >>> 3 === 1) index = reader.uint32();
    else if (tag >>> 3 === 3) message = reader.string();
    else reader.skipType(tag & 7);
  }
  return { index, message };
}

/** `google.rpc.Status`, with the code of a StorageError among its details. */
export function readStatus(bytes: Uint8Array): Status {
  const { code, message, details } = readRpcStatus(bytes);
  const storageError = details.find(({ type }) => type === "google.cloud.bigquery.storage.v1.StorageError");
  return { code, message, storageError: storageError ? readStorageError(storageError.value) : 0 };
}

/** `google.cloud.bigquery.storage.v1.StorageError`: code = 1. */
export function readStorageError(bytes: Uint8Array): number {
  const reader = protobuf.Reader.create(bytes);
  let code = 0;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) code = reader.int32();
    else reader.skipType(tag & 7);
  }
  return code;
}
