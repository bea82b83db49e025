/** Why the embedded BigQuery does not take an append request: a status, and for some causes a StorageError. */
import { storageProtos } from "../../lib/protos.ts";
import { RpcError, type StatusDetail, type StatusName } from "../rpc-error.ts";

/** A code of `StorageError.StorageErrorCode`, with the resource that it is about. */
export interface StorageFault {
  readonly code: string;
  readonly entity: string;
}

/** The request is refused; the connection stays as it is. */
export class AppendRefusal extends Error {
  override readonly name = "AppendRefusal";
  readonly status: StatusName;
  readonly storageFault: StorageFault | undefined;

  constructor(status: StatusName, message: string, storageFault?: StorageFault) {
    super(message);
    this.status = status;
    this.storageFault = storageFault;
  }

  /** A plain StorageError, as an answer holds it that is no status; undefined when the cause has no code. */
  get storageError(): object | undefined {
    return this.storageFault && plainStorageError(this.storageFault, this.message);
  }

  /** Packed messages of `google.rpc.Status.details`. */
  get details(): readonly StatusDetail[] {
    return this.storageFault ? [storageErrorDetail(this.storageFault, this.message)] : [];
  }

  /** The same as the end of a call; its trailers have the StorageError in both places where clients look for it. */
  asRpcError(): RpcError {
    const error = new RpcError(this.status, this.message, this.details);
    for (const { value } of this.details) error.metadata.set(storageErrorTrailer, Buffer.from(value));
    return error;
  }
}

const storageErrorTrailer = "google.cloud.bigquery.storage.v1.storageerror-bin";
const storageErrorType = "google.cloud.bigquery.storage.v1.StorageError";

/** `google.cloud.bigquery.storage.v1.StorageError`, packed. */
function storageErrorDetail(fault: StorageFault, message: string): StatusDetail {
  const type = storageProtos().lookupType(storageErrorType);
  const error = type.fromObject(plainStorageError(fault, message));
  return { type: storageErrorType, value: type.encode(error).finish() };
}

function plainStorageError({ code, entity }: StorageFault, message: string): object {
  return { code, entity, errorMessage: message };
}
