/**
 * What the service tells of single ack ids whose request had no effect on them (PULL-01). It comes with the status of the
 * call, in `grpc-status-details-bin`: a `google.rpc.Status` with a `google.rpc.ErrorInfo` whose metadata names ids and codes.
 */
import type * as grpc from "@grpc/grpc-js";
import protobuf from "protobufjs/minimal.js";
import { readRpcStatus } from "../lib/rpc-status.ts";

/**
 * `transient`: another try may succeed; `unordered`: as soon as earlier messages of the ordering key are acked; `permanent`:
 * the lease has ended, or the id was never one of this subscription.
 */
export type AckFailure = "transient" | "unordered" | "permanent";

/** Failures by ack id; the ids of the request that are not among them succeeded. */
export type AckFailures = ReadonlyMap<string, AckFailure>;

const ackIdReason = "EXACTLY_ONCE_ACKID_FAILURE";
const ackIdCode = /^(?:TRANSIENT|PERMANENT)_FAILURE_/;
const transientCode = /^TRANSIENT_FAILURE_/;
const unorderedCode = "TRANSIENT_FAILURE_UNORDERED_ACK_ID";

/** @returns undefined when the error tells nothing of single ids: then it is about the whole request */
export function ackFailuresOf(error: unknown): AckFailures | undefined {
  const failures = new Map<string, AckFailure>();
  let told = false;
  for (const status of statusDetailsOf(error)) {
    try {
      for (const { type, value } of readRpcStatus(status).details) {
        if (type === "google.rpc.ErrorInfo") told = readErrorInfo(value, failures) || told;
      }
    } catch {
      // Details that cannot be read tell nothing.
      return undefined;
    }
  }
  return told && failures.size > 0 ? failures : undefined;
}

function statusDetailsOf(error: unknown): readonly Buffer[] {
  if (!(error instanceof Error) || !("metadata" in error)) return [];
  const metadata = error.metadata as grpc.Metadata | undefined;
  return (metadata?.get("grpc-status-details-bin") ?? []).filter((value) => Buffer.isBuffer(value));
}

/** `google.rpc.ErrorInfo`: reason = 1, metadata = 3. True when it is about ack ids. */
function readErrorInfo(info: Uint8Array, failures: Map<string, AckFailure>): boolean {
  const reader = protobuf.Reader.create(info);
  let told = false;
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) told = reader.string() === ackIdReason || told;
    else if (tag >>> 3 === 3) {
      const [id, code] = readEntry(reader.bytes());
      told ||= ackIdCode.test(code);
      failures.set(id, failureOf(code));
    } else reader.skipType(tag & 7);
  }
  return told;
}

function failureOf(code: string): AckFailure {
  if (code === unorderedCode) return "unordered";
  return transientCode.test(code) ? "transient" : "permanent";
}

/** An entry of a map: key = 1, value = 2. */
function readEntry(entry: Uint8Array): [key: string, value: string] {
  const reader = protobuf.Reader.create(entry);
  let [key, value] = ["", ""];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === 1) key = reader.string();
    else if (tag >>> 3 === 2) value = reader.string();
    else reader.skipType(tag & 7);
  }
  return [key, value];
}
