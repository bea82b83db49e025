import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { type AppendFailure, type AppendVerdict, classify, storageErrors } from "../../../src/bigquery/append-error.ts";
import { storageProtos } from "../../../src/lib/protos.ts";

/** A verdict in one word. */
function word(verdict: AppendVerdict): string {
  if (verdict.kind === "setup") return verdict.state;
  return verdict.kind === "reopen" && verdict.idle ? "idle" : verdict.kind;
}

const failure = (given: Partial<AppendFailure>): AppendFailure => ({
  scope: "request",
  code: status.INVALID_ARGUMENT,
  message: "",
  storageError: 0,
  rowErrors: 0,
  hasOffset: false,
  ...given,
});

/** Status → verdict when an answer says it, verdict when the connection ends with it. */
const byStatus: Record<keyof typeof status, readonly [string, string]> = {
  OK: ["reopen", "reopen"],
  CANCELLED: ["retry", "reopen"],
  UNKNOWN: ["retry", "reopen"],
  INVALID_ARGUMENT: ["isolate", "refresh"],
  DEADLINE_EXCEEDED: ["retry", "reopen"],
  NOT_FOUND: ["NOT_FOUND", "NOT_FOUND"],
  ALREADY_EXISTS: ["isolate", "refresh"],
  PERMISSION_DENIED: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
  RESOURCE_EXHAUSTED: ["quota", "quota"],
  FAILED_PRECONDITION: ["retry", "reopen"],
  ABORTED: ["retry", "reopen"],
  OUT_OF_RANGE: ["isolate", "refresh"],
  UNIMPLEMENTED: ["UNAVAILABLE", "UNAVAILABLE"],
  INTERNAL: ["retry", "reopen"],
  UNAVAILABLE: ["retry", "reopen"],
  DATA_LOSS: ["retry", "reopen"],
  UNAUTHENTICATED: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
};

const byStorageError: Record<keyof typeof storageErrors, readonly [string, string]> = {
  STORAGE_ERROR_CODE_UNSPECIFIED: ["isolate", "refresh"],
  TABLE_NOT_FOUND: ["NOT_FOUND", "NOT_FOUND"],
  STREAM_ALREADY_COMMITTED: ["reopen", "reopen"],
  STREAM_NOT_FOUND: ["NOT_FOUND", "NOT_FOUND"],
  INVALID_STREAM_TYPE: ["reopen", "reopen"],
  INVALID_STREAM_STATE: ["reopen", "reopen"],
  STREAM_FINALIZED: ["reopen", "reopen"],
  SCHEMA_MISMATCH_EXTRA_FIELDS: ["refresh", "refresh"],
  OFFSET_ALREADY_EXISTS: ["reopen", "reopen"],
  OFFSET_OUT_OF_RANGE: ["reopen", "reopen"],
  CMEK_NOT_PROVIDED: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
  INVALID_CMEK_PROVIDED: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
  CMEK_ENCRYPTION_ERROR: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
  KMS_SERVICE_ERROR: ["retry", "reopen"],
  KMS_PERMISSION_DENIED: ["PERMISSION_DENIED", "PERMISSION_DENIED"],
};

describe("every status", () => {
  test.each(Object.entries(byStatus))("%s", (name, [request, stream]) => {
    const code = status[name as keyof typeof status];
    expect(word(classify(failure({ code })))).toBe(request);
    expect(word(classify(failure({ code, scope: "stream" })))).toBe(stream);
  });

  test("one that gRPC does not have is tried again", () => {
    expect(word(classify(failure({ code: 99 })))).toBe("retry");
  });
});

describe("every storage error", () => {
  test("the numbers are Google's", () => {
    const { values } = storageProtos().lookupEnum("google.cloud.bigquery.storage.v1.StorageError.StorageErrorCode");
    expect(storageErrors).toEqual(values);
  });

  test.each(Object.entries(byStorageError))("%s", (name, [request, stream]) => {
    const storageError = storageErrors[name as keyof typeof storageErrors];
    expect(word(classify(failure({ storageError })))).toBe(request);
    expect(word(classify(failure({ storageError, scope: "stream" })))).toBe(stream);
  });

  test("it counts for more than the status", () => {
    expect(word(classify(failure({ code: status.UNAVAILABLE, storageError: 7 })))).toBe("refresh");
  });
});

describe("an append with an offset, to a stream of our own", () => {
  /** Where it differs from the default stream. */
  const statuses: Partial<Record<keyof typeof status, readonly [string, string]>> = {
    ALREADY_EXISTS: ["stored", "reopen"],
    OUT_OF_RANGE: ["displaced", "reopen"],
    NOT_FOUND: ["streamLost", "streamLost"],
  };
  const storageCodes: Partial<Record<keyof typeof storageErrors, readonly [string, string]>> = {
    OFFSET_ALREADY_EXISTS: ["stored", "reopen"],
    OFFSET_OUT_OF_RANGE: ["displaced", "reopen"],
    STREAM_NOT_FOUND: ["streamLost", "streamLost"],
    STREAM_FINALIZED: ["streamLost", "streamLost"],
    STREAM_ALREADY_COMMITTED: ["streamLost", "streamLost"],
    INVALID_STREAM_STATE: ["streamLost", "streamLost"],
    INVALID_STREAM_TYPE: ["streamLost", "streamLost"],
  };

  test.each(Object.entries({ ...byStatus, ...statuses }))("%s", (name, [request, stream]) => {
    const code = status[name as keyof typeof status];
    expect(word(classify(failure({ code, hasOffset: true })))).toBe(request);
    expect(word(classify(failure({ code, hasOffset: true, scope: "stream" })))).toBe(stream);
  });

  test.each(Object.entries({ ...byStorageError, ...storageCodes }))("%s", (name, [request, stream]) => {
    const storageError = storageErrors[name as keyof typeof storageErrors];
    expect(word(classify(failure({ storageError, hasOffset: true })))).toBe(request);
    expect(word(classify(failure({ storageError, hasOffset: true, scope: "stream" })))).toBe(stream);
  });

  test("a stream that is said to be finalized", () => {
    const message = "Stream has been finalized and cannot be appended. Entity: projects/p";
    expect(word(classify(failure({ message, hasOffset: true })))).toBe("streamLost");
  });

  test("named rows count for more", () => {
    expect(word(classify(failure({ code: status.OUT_OF_RANGE, rowErrors: 1, hasOffset: true })))).toBe("rejectRows");
  });
});

test("named rows count for more than anything else", () => {
  expect(word(classify(failure({ code: status.NOT_FOUND, storageError: 1, rowErrors: 1 })))).toBe("rejectRows");
});

/** Texts that BigQuery's and gRPC's servers were seen to send. */
describe("what is told by words alone", () => {
  test.each([
    ["request", "INVALID_ARGUMENT", "AppendRows request too large: 19923131 limit 10485760", "split"],
    ["request", "INVALID_ARGUMENT", "MessageSize is too large. Max allow: 10000000 Actual: 12040940", "split"],
    ["request", "INVALID_ARGUMENT", "Request payload size exceeds the limit: 10485760 bytes.", "split"],
    ["request", "INVALID_ARGUMENT", "Field name: value exceeds the maximum length of 10", "isolate"],
    ["request", "INVALID_ARGUMENT", "Numeric value is too large for column amount", "isolate"],
    ["stream", "RESOURCE_EXHAUSTED", "Received message larger than max (1048581 vs. 1048576)", "split"],
    ["request", "RESOURCE_EXHAUSTED", "Project p exceeds the limit of concurrent connections", "quota"],
    [
      "request",
      "RESOURCE_EXHAUSTED",
      "Exceeds 'AppendRows throughput' quota, user_id: p (status: INSUFFICIENT_TOKENS)",
      "quota",
    ],
    [
      "request",
      "INVALID_ARGUMENT",
      "Input schema has more fields than BigQuery schema, extra fields: 'tag'",
      "refresh",
    ],
    [
      "stream",
      "INVALID_ARGUMENT",
      "The proto field mismatched with BigQuery field at D1.foo, the proto field type string, BigQuery field type INTEGER",
      "refresh",
    ],
    ["stream", "INVALID_ARGUMENT", "Invalid proto schema: BqMessage.proto: row.x: is already defined", "refresh"],
    ["stream", "ABORTED", "Closing the stream because it has been inactive for 600 seconds", "idle"],
    [
      "stream",
      "UNKNOWN",
      "Getting metadata from plugin failed with error: Could not load the default credentials",
      "PERMISSION_DENIED",
    ],
  ] as const)("%s %s: %s", (scope, code, message, verdict) => {
    expect(word(classify(failure({ scope, code: status[code], message })))).toBe(verdict);
  });

  test("reasons say what to do and hold nothing of the server's words", () => {
    const verdict = classify(failure({ code: status.PERMISSION_DENIED, message: "secret" }));
    expect(verdict).toMatchObject({ kind: "setup", reason: expect.stringContaining("roles/bigquery.dataEditor") });
    expect(JSON.stringify(verdict)).not.toContain("secret");
  });
});
