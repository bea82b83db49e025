/**
 * What a failed append means, and so what is done about it: the one place where gRPC statuses and
 * BigQuery's storage errors are read.
 */
import { status } from "@grpc/grpc-js";
import type { PipelineState } from "../message.ts";

/** `google.cloud.bigquery.storage.v1.StorageError.StorageErrorCode`. */
export const storageErrors = {
  STORAGE_ERROR_CODE_UNSPECIFIED: 0,
  TABLE_NOT_FOUND: 1,
  STREAM_ALREADY_COMMITTED: 2,
  STREAM_NOT_FOUND: 3,
  INVALID_STREAM_TYPE: 4,
  INVALID_STREAM_STATE: 5,
  STREAM_FINALIZED: 6,
  SCHEMA_MISMATCH_EXTRA_FIELDS: 7,
  OFFSET_ALREADY_EXISTS: 8,
  OFFSET_OUT_OF_RANGE: 9,
  CMEK_NOT_PROVIDED: 10,
  INVALID_CMEK_PROVIDED: 11,
  CMEK_ENCRYPTION_ERROR: 12,
  KMS_SERVICE_ERROR: 13,
  KMS_PERMISSION_DENIED: 14,
} as const;

export type StorageErrorCode = (typeof storageErrors)[keyof typeof storageErrors];

export interface AppendFailure {
  /** `request`: the answer to one request says so, the connection lives on. `stream`: the connection has ended with it. */
  readonly scope: "request" | "stream";
  /** gRPC status code. */
  readonly code: number;
  /** The server's words. They are looked at, never shown: they may quote a value. */
  readonly message: string;
  /** 0 when the status carries no storage error. */
  readonly storageError: number;
  /** How many rows the answer names. */
  readonly rowErrors: number;
  /** The append had an offset, in a write stream of our own. */
  readonly hasOffset: boolean;
}

/** A state that a person has to mend; until then everything is held. */
export type SetupState = Extract<PipelineState, "PERMISSION_DENIED" | "NOT_FOUND" | "SCHEMA_MISMATCH" | "UNAVAILABLE">;

export type AppendVerdict =
  /** The rows are in the table already. */
  | { readonly kind: "stored" }
  /** The rows are not in the table, because others before them are not: the same again, behind those. */
  | { readonly kind: "displaced" }
  /** Our write stream takes nothing any more: another is needed, once it is known what this one has taken. */
  | { readonly kind: "streamLost" }
  /** The named rows are at fault; the others go again. */
  | { readonly kind: "rejectRows" }
  /** Some row is at fault, but none is named: halve the request until it is found. */
  | { readonly kind: "isolate" }
  /** The request is too large: send it in halves. */
  | { readonly kind: "split" }
  /** The rows' descriptor and the table do not agree: look at the table again. */
  | { readonly kind: "refresh" }
  /** Nothing is wrong with the request: the same again, after a pause. */
  | { readonly kind: "retry" }
  /** A new connection is needed. `idle`: the old one was closed for want of traffic, which is no failure. */
  | { readonly kind: "reopen"; readonly idle: boolean }
  | { readonly kind: "quota" }
  | { readonly kind: "setup"; readonly state: SetupState; readonly reason: string };

/** Row errors first, then the storage error, then words that tell more than the status does, then the status. */
export function classify(failure: AppendFailure): AppendVerdict {
  if (failure.rowErrors > 0) return { kind: "rejectRows" };
  const verdict =
    (failure.hasOffset ? byOffset(failure) : undefined) ??
    byStorageCode[failure.storageError as StorageErrorCode] ??
    byWords(failure) ??
    byStatusNumber[failure.code] ??
    retry;
  return failure.scope === "stream" ? (ofStream[verdict.kind] ?? verdict) : verdict;
}

const retry: AppendVerdict = { kind: "retry" };
const reopen: AppendVerdict = { kind: "reopen", idle: false };
const isolate: AppendVerdict = { kind: "isolate" };

/** When a connection has ended, no single request can be blamed for it. */
const ofStream: Partial<Record<AppendVerdict["kind"], AppendVerdict>> = {
  stored: reopen,
  displaced: reopen,
  retry: reopen,
  rejectRows: reopen,
  // BigQuery ends a connection for a descriptor that does not fit the table, not for a row.
  isolate: { kind: "refresh" },
};

const notFound: AppendVerdict = {
  kind: "setup",
  state: "NOT_FOUND",
  reason: "the table does not exist: create it, or mend `bigquery.table`",
};
const denied: AppendVerdict = {
  kind: "setup",
  state: "PERMISSION_DENIED",
  reason:
    "this account may not write: grant it bigquery.tables.updateData (role roles/bigquery.dataEditor) on the table or its dataset",
};
const unauthenticated: AppendVerdict = {
  kind: "setup",
  state: "PERMISSION_DENIED",
  reason: "BigQuery does not accept the credentials: check Application Default Credentials and the service account",
};
const keyTrouble: AppendVerdict = {
  kind: "setup",
  state: "PERMISSION_DENIED",
  reason:
    "the table's encryption key cannot be used: check the key, and that BigQuery's service account has roles/cloudkms.cryptoKeyEncrypterDecrypter on it",
};
const noWriteApi: AppendVerdict = {
  kind: "setup",
  state: "UNAVAILABLE",
  reason: "the endpoint does not offer the Storage Write API: check `endpoints.bigqueryStorage`",
};

const byStorageCode: Record<StorageErrorCode, AppendVerdict | undefined> = {
  [storageErrors.STORAGE_ERROR_CODE_UNSPECIFIED]: undefined,
  [storageErrors.TABLE_NOT_FOUND]: notFound,
  [storageErrors.STREAM_ALREADY_COMMITTED]: reopen,
  // The default stream exists as long as its table does.
  [storageErrors.STREAM_NOT_FOUND]: notFound,
  [storageErrors.INVALID_STREAM_TYPE]: reopen,
  [storageErrors.INVALID_STREAM_STATE]: reopen,
  [storageErrors.STREAM_FINALIZED]: reopen,
  [storageErrors.SCHEMA_MISMATCH_EXTRA_FIELDS]: { kind: "refresh" },
  // The default stream has no offsets.
  [storageErrors.OFFSET_ALREADY_EXISTS]: reopen,
  [storageErrors.OFFSET_OUT_OF_RANGE]: reopen,
  [storageErrors.CMEK_NOT_PROVIDED]: keyTrouble,
  [storageErrors.INVALID_CMEK_PROVIDED]: keyTrouble,
  [storageErrors.CMEK_ENCRYPTION_ERROR]: keyTrouble,
  [storageErrors.KMS_SERVICE_ERROR]: retry,
  [storageErrors.KMS_PERMISSION_DENIED]: keyTrouble,
};

const byStatus: Record<status, AppendVerdict> = {
  [status.OK]: reopen,
  [status.CANCELLED]: retry,
  [status.UNKNOWN]: retry,
  [status.INVALID_ARGUMENT]: isolate,
  [status.DEADLINE_EXCEEDED]: retry,
  [status.NOT_FOUND]: notFound,
  // Only an append with an offset can have landed before.
  [status.ALREADY_EXISTS]: isolate,
  [status.PERMISSION_DENIED]: denied,
  [status.RESOURCE_EXHAUSTED]: { kind: "quota" },
  [status.FAILED_PRECONDITION]: retry,
  [status.ABORTED]: retry,
  [status.OUT_OF_RANGE]: isolate,
  [status.UNIMPLEMENTED]: noWriteApi,
  [status.INTERNAL]: retry,
  [status.UNAVAILABLE]: retry,
  [status.DATA_LOSS]: retry,
  [status.UNAUTHENTICATED]: unauthenticated,
};

/** The same, for codes as they come from the wire. */
const byStatusNumber: Readonly<Record<number, AppendVerdict | undefined>> = byStatus;

const stored: AppendVerdict = { kind: "stored" };
const displaced: AppendVerdict = { kind: "displaced" };
const streamLost: AppendVerdict = { kind: "streamLost" };

/** What storage errors mean of an append with an offset, as far as they mean something else than on the default stream. */
const offsetByStorageCode: Partial<Record<StorageErrorCode, AppendVerdict>> = {
  [storageErrors.STREAM_ALREADY_COMMITTED]: streamLost,
  [storageErrors.STREAM_NOT_FOUND]: streamLost,
  [storageErrors.INVALID_STREAM_TYPE]: streamLost,
  [storageErrors.INVALID_STREAM_STATE]: streamLost,
  [storageErrors.STREAM_FINALIZED]: streamLost,
  [storageErrors.OFFSET_ALREADY_EXISTS]: stored,
  [storageErrors.OFFSET_OUT_OF_RANGE]: displaced,
};

/** The same for statuses without a storage error. */
const offsetByStatus: Readonly<Record<number, AppendVerdict | undefined>> = {
  [status.ALREADY_EXISTS]: stored,
  [status.OUT_OF_RANGE]: displaced,
  // Not the table, or the storage error would say so.
  [status.NOT_FOUND]: streamLost,
};

const invalidArgument: number = status.INVALID_ARGUMENT;

function byOffset({ code, storageError, message }: AppendFailure): AppendVerdict | undefined {
  if (storageError !== 0) return offsetByStorageCode[storageError as StorageErrorCode];
  if (code === invalidArgument && /stream .*finalized/i.test(message)) return streamLost;
  return offsetByStatus[code];
}

interface Words {
  readonly codes: readonly number[];
  readonly pattern: RegExp;
  readonly verdict: AppendVerdict;
}

/** Meanings that BigQuery, or gRPC itself, tells by words alone. */
const words: readonly Words[] = [
  // Of the request as a whole: a value may be too large as well, and so may what somebody uses of a quota.
  {
    codes: [status.INVALID_ARGUMENT],
    pattern:
      /(?:request|message|payload) ?(?:size )?(?:is )?(?:too large|larger than max|exceeds the (?:limit|maximum))/i,
    verdict: { kind: "split" },
  },
  {
    codes: [status.RESOURCE_EXHAUSTED],
    pattern: /message larger than max|request too large/i,
    verdict: { kind: "split" },
  },
  {
    codes: [status.INVALID_ARGUMENT],
    pattern: /more fields than BigQuery schema|mismatched with BigQuery field|schema mismatch|invalid proto schema/i,
    verdict: { kind: "refresh" },
  },
  {
    codes: [status.ABORTED, status.CANCELLED, status.UNAVAILABLE],
    pattern: /inactiv|idle/i,
    verdict: { kind: "reopen", idle: true },
  },
  // grpc-js gives this when no access token could be had.
  {
    codes: [status.UNKNOWN, status.UNAVAILABLE, status.INTERNAL],
    pattern: /^Getting metadata from plugin failed/,
    verdict: unauthenticated,
  },
];

function byWords({ code, message }: AppendFailure): AppendVerdict | undefined {
  return words.find((entry) => entry.codes.includes(code) && entry.pattern.test(message))?.verdict;
}
