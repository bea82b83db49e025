import { status } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { AppendVerdict } from "../../../src/bigquery/append-error.ts";
import { classifyCreation, classifyFinalization } from "../../../src/bigquery/stream-call-error.ts";

function word(verdict: AppendVerdict): string {
  return verdict.kind === "setup" ? verdict.state : verdict.kind;
}

/** Status and storage error → verdict on CreateWriteStream, verdict on FinalizeWriteStream. */
test.each([
  ["UNAVAILABLE", 0, "reopen", "reopen"],
  ["INTERNAL", 0, "reopen", "reopen"],
  ["DEADLINE_EXCEEDED", 0, "reopen", "reopen"],
  ["RESOURCE_EXHAUSTED", 0, "quota", "quota"],
  ["PERMISSION_DENIED", 0, "PERMISSION_DENIED", "PERMISSION_DENIED"],
  ["NOT_FOUND", 1, "NOT_FOUND", "NOT_FOUND"],
  // Without a word of the table, the stream is missing.
  ["NOT_FOUND", 0, "NOT_FOUND", "streamLost"],
  ["NOT_FOUND", 3, "NOT_FOUND", "streamLost"],
  ["INVALID_ARGUMENT", 4, "reopen", "streamLost"],
  ["INVALID_ARGUMENT", 0, "UNAVAILABLE", "streamLost"],
  ["UNIMPLEMENTED", 0, "UNAVAILABLE", "streamLost"],
] as const)("%s, storage error %i: %s, %s", (name, storageError, creation, finalization) => {
  const call = { code: status[name], message: "", storageError };
  expect(word(classifyCreation(call))).toBe(creation);
  expect(word(classifyFinalization(call))).toBe(finalization);
});
